import type { Violation } from '../simulation.ts'

/** Maximum number of violations to keep. */
const mostViolations = 5

/** Collects violations and observations of checkers. */
export class Court<State extends string> {
  readonly violations: Violation[] = []
  readonly reached = new Map<string, number>()
  /** Settles with the first violation: its consequences do not matter. */
  readonly broken: Promise<void>
  readonly #break: () => void
  readonly #trace: ((who: string, text: string) => void) | undefined

  constructor(trace: ((who: string, text: string) => void) | undefined) {
    this.#trace = trace
    const { promise, resolve } = Promise.withResolvers<void>()
    this.broken = promise
    this.#break = resolve
  }

  violate(invariant: string, what: string): void {
    this.#trace?.('court', `VIOLATION ${invariant}: ${what}`)
    if (this.violations.length < mostViolations) this.violations.push({ invariant, what })
    this.#break()
  }

  reach(state: State): void {
    this.reached.set(state, (this.reached.get(state) ?? 0) + 1)
  }

  /** Adds a line to the trace. The text is built only if the trace is read. */
  note(who: string, text: () => string): void {
    this.#trace?.(who, text())
  }
}
