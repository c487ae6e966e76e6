// Calls the skill: an error that nobody catches goes to standard error, and the run fails.
import { log } from "skill";
import * as guest from "guest";

export const run = {
  run() {
    try {
      const result = guest.run();
      if (typeof result?.then === "function") throw new Error("`run` must not be async: there is nothing to wait for");
    } catch (error) {
      log(error);
      throw undefined;
    }
  },
};
