// Taken once, because a tripwire may stand in the place of the global while the simulation runs.
const { setImmediate } = globalThis

/**
 * Calls `step` until it returns false, with every promise and every `process.nextTick` settled before each call.
 *
 * Node empties both queues between two immediates, so a burst of immediates is a loop of steps that comes round the
 * event loop once per burst instead of once per step. Measured on Node 24: 3.4 million steps/s in bursts of 64, 0.4
 * million when each step awaits an immediate of its own. (A microtask checkpoint by V8's native syntax would leave the
 * queue of `process.nextTick` full.)
 */
export function drive(step: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isRunning = true
    let burst = 1
    const turn = (): void => {
      if (!isRunning) return
      try {
        isRunning = step()
        if (!isRunning) resolve()
      } catch (error) {
        isRunning = false
        reject(error)
      }
    }
    const comeRound = (): void => {
      if (!isRunning) return
      for (let turns = 0; turns < burst; turns++) setImmediate(turn)
      // Short runs are the most frequent, and need no long burst.
      burst = Math.min(64, burst * 2)
      setImmediate(comeRound)
    }
    comeRound()
  })
}
