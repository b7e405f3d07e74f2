// The time, for texts like "3 min ago".
const inexact = 2000; // milliseconds: the server tells its time by the second

class Clock {
  /** This computer's. */
  here = $state(Date.now());
  #ahead = $state(0); // milliseconds, of the server
  /** The server's, which the times in its answers are of. */
  now = $derived(this.here + this.#ahead);

  constructor() {
    setInterval(() => (this.here = Date.now()), 1000);
  }

  /** Takes the server's time from the header Date of an answer that has just come. */
  hear(date: string | null) {
    const ahead = date ? Date.parse(date) - Date.now() : NaN;
    if (Math.abs(ahead - this.#ahead) > inexact) this.#ahead = ahead;
  }
}

export const clock = new Clock();
