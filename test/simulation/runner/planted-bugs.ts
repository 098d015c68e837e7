/**
 * Finds planted bugs by their recorded seeds, one after another in one process: starting a process for each would take most
 * of the time.
 */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Mutant, Simulation, Violation } from '../simulation.ts'
import type { PlantedAnswer } from './planted-process.ts'
import { defaultStuckMs, endProcess, runSeeds, startProcess } from './seed-pool.ts'

/** The bugs of one simulation. */
export class PlantedBugs implements AsyncDisposable {
  readonly #simulation: Pick<Simulation, 'module'>
  readonly #stuckMs: number
  #process: ChildProcess | undefined

  constructor(simulation: Pick<Simulation, 'module'>, stuckMs: number = defaultStuckMs) {
    this.#simulation = simulation
    this.#stuckMs = stuckMs
  }

  /**
   * Runs the bug's seed and returns its violation; undefined when there is none. Rejects when the bug cannot be
   * planted.
   */
  async find(mutant: Mutant): Promise<Violation | undefined> {
    const answer = await this.#ask(mutant)
    if (answer?.kind === 'FAILED') throw new Error(answer.reason)
    if (answer?.kind === 'RAN') return answer.violation
    // The process has ended, or does not respond. An earlier bug may be the cause, so this one runs in a fresh process.
    return this.#findAlone(mutant)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process !== undefined) await endProcess(this.#process)
  }

  /** Returns undefined when the process is ruined: the next bug gets another one. */
  async #ask(mutant: Mutant): Promise<PlantedAnswer | undefined> {
    const child = await this.#running()
    child.send(mutant, () => {}) // If the send fails the process has ended, and the answer reports that.
    const answer = await answerOf(child, this.#stuckMs)
    if (answer === undefined) await endProcess(child)
    return answer
  }

  async #running(): Promise<ChildProcess> {
    const former = this.#process
    if (former !== undefined && former.exitCode === null && former.signalCode === null) return former
    const child = startProcess('planted-process.ts', this.#simulation.module)
    child.stderr?.resume() // The separate run for this bug repeats its output.
    this.#process = child
    const answer = await answerOf(child, defaultStuckMs)
    if (answer?.kind !== 'READY') throw new Error(answer?.kind === 'FAILED' ? answer.reason : 'No process has started.')
    return child
  }

  async #findAlone(mutant: Mutant): Promise<Violation | undefined> {
    let found: Violation | undefined
    await runSeeds({
      simulation: this.#simulation,
      mutant,
      workers: 1,
      stuckMs: this.#stuckMs,
      seeds: [mutant.seed],
      report({ violations }) {
        found = violations[0]
        return true
      },
    })
    return found
  }
}

/** Returns undefined when the process ends without an answer, or takes too long. */
async function answerOf(child: ChildProcess, withinMs: number): Promise<PlantedAnswer | undefined> {
  const answered = new AbortController()
  try {
    return await Promise.race([
      once(child, 'message', answered).then(([answer]) => answer as PlantedAnswer),
      once(child, 'close', answered).then(() => undefined),
      setTimeout(withinMs, undefined, answered),
    ])
  } finally {
    answered.abort()
  }
}
