import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// The build is committed: the same sources have to make the same bytes.
export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: { target: "es2022", modulePreload: { polyfill: false }, assetsInlineLimit: 0, reportCompressedSize: false },
  // `npm run dev` shows the console of a server that listens here.
  server: { proxy: { "/v1": { target: process.env.TOOLSTREAM_URL ?? "http://127.0.0.1:8665", changeOrigin: false } } }, // the server refuses pages of another origin
});
