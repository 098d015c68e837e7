/**
 * Bindings that have left their groups, so that another process can move the positions of these.
 *
 *     leave ─▶ stopped, its turn taken ─▶ moves of this process ─▶ comeBack ─▶ started paused, its turn released
 *
 * Commands of the binding wait for its turn. A connector that stops ends the absence.
 */

import { abortReason } from '@waybill/core/internal'
import type { RegisteredBinding } from '../run/registered-binding.ts'

/** The dependencies of absences. */
export interface BindingsAwayDeps {
  /** Aborts when the connector stops. */
  readonly closing: AbortSignal
  /** Runs work after the commands of a binding. */
  readonly serially: (binding: RegisteredBinding, work: () => Promise<void>) => Promise<void>
}

interface Absence {
  readonly release: () => void
  /** Settles when the binding is back. */
  readonly over: Promise<void>
  /** The last move of this process. */
  moving: Promise<unknown>
}

/** See the file's comment. */
export class BindingsAway {
  readonly #deps: BindingsAwayDeps
  readonly #absences = new Map<RegisteredBinding, Absence>()

  constructor(deps: BindingsAwayDeps) {
    this.#deps = deps
  }

  has(binding: RegisteredBinding): boolean {
    return this.#absences.has(binding)
  }

  /** Leaves the groups. @throws the error of a binding that runs, or whose handlers do not end */
  async leave(binding: RegisteredBinding): Promise<undefined> {
    const { closing, serially } = this.#deps
    const gone = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    const over = serially(binding, async () => {
      binding.check('seek')
      await binding.whileAway({ deadlineMs: binding.resolved.shutdownTimeoutMs }, closing, async () => {
        gone.resolve()
        await Promise.race([released.promise, aborted(closing)])
      })
    })
    // Reported by comeBack, or by the race below when it never left.
    over.catch(() => {})
    // Known from now on: the return may be requested before the stop is over.
    this.#absences.set(binding, { release: () => released.resolve(), over, moving: Promise.resolve() })
    try {
      await Promise.race([gone.promise, over])
    } catch (error) {
      this.#absences.delete(binding)
      throw error
    }
    return undefined
  }

  /** Runs a move while the binding is away. */
  async during<T>(binding: RegisteredBinding, move: () => Promise<T>): Promise<T> {
    const absence = this.#absences.get(binding)
    const moving = move()
    if (absence !== undefined) absence.moving = Promise.allSettled([absence.moving, moving])
    return moving
  }

  /** Returns to the groups after the moves of this process. A binding that is not away stays as it is. */
  async comeBack(binding: RegisteredBinding): Promise<undefined> {
    const absence = this.#absences.get(binding)
    if (absence === undefined) return undefined
    await absence.moving
    this.#absences.delete(binding)
    absence.release()
    await absence.over
    return undefined
  }
}

/** Rejects when the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(abortReason(signal))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
