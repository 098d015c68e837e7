import { readJournal } from '../../support/journal-file.ts'
import { disorder } from '../../support/key-order.ts'

/**
 * One step of a process: the start and outcome of a listener; a transaction that it saw rolled back, or whose outcome
 * is unknown. The test adds KILLED when it kills the process, before another could take over its work.
 */
export type DeliveryStep = 'START' | 'OK' | 'FAIL' | 'DEAD' | 'ROLLED_BACK' | 'UNKNOWN' | 'KILLED'

/** One line of a journal. */
export interface DeliveryLine {
  readonly pid: number
  readonly step: DeliveryStep
  /** Value of the event: each is written once in a test. */
  readonly value: string
  readonly key: string
  /** Attempt of a delivery, from 1. */
  readonly attempt: number
}

/** Violations in a journal. */
export interface Misdeeds {
  /** Started by a process while another live one was processing it. */
  readonly sideBySide: readonly string[]
  /** Started again after it had succeeded, though the process was not killed. */
  readonly unexplained: readonly string[]
  /** Started with a lower attempt than before. */
  readonly fallingAttempts: readonly string[]
}

export const noMisdeeds: Misdeeds = { sideBySide: [], unexplained: [], fallingAttempts: [] }

/** The steps of listeners and writers, in the order in which they happened. */
export class DeliveryJournal {
  readonly lines: readonly DeliveryLine[]

  constructor(path: string) {
    this.lines = readJournal(path) as readonly DeliveryLine[]
  }

  /** Returns the values with that step, as often as it happened. */
  values(step: DeliveryStep): string[] {
    return this.lines.filter((line) => line.step === step).map(({ value }) => value)
  }

  /** Values that were started again after success, as often as that happened. */
  get repeated(): string[] {
    const ended = new Set<string>()
    return this.lines.flatMap(({ step, value }) => {
      if (step === 'OK' || step === 'DEAD') ended.add(value)
      return step === 'START' && ended.has(value) ? [value] : []
    })
  }

  /** Returns violations of the key order. */
  disorder(written: readonly { readonly key: string; readonly value: string }[]): string[] {
    return disorder(
      this.lines.filter(({ step }) => step !== 'ROLLED_BACK' && step !== 'UNKNOWN'),
      written,
      [],
    )
  }

  /**
   * Returns events that were delivered again without every later event of their key that was delivered before (I22).
   *
   * @param written - all events, in the order of the table
   */
  halfRepeats(written: readonly { readonly key: string; readonly value: string }[]): string[] {
    const places = new Map(written.map(({ key, value }, place) => [value, { key, place }]))
    const ended = new Set<string>()
    const keys = new Map<string, { newest: number; owed: number; repeated: string }>()
    for (const { step, value } of this.lines) {
      const at = places.get(value)
      if (at === undefined) continue
      const state = keys.get(at.key) ?? { newest: -1, owed: -1, repeated: '' }
      keys.set(at.key, state)
      if (step === 'OK' || step === 'DEAD') {
        ended.add(value)
        state.newest = Math.max(state.newest, at.place)
      }
      if (step !== 'START') continue
      if (at.place >= state.owed) state.owed = -1
      if (ended.has(value) && at.place < state.newest) Object.assign(state, { owed: state.newest, repeated: value })
    }
    return [...keys.values()].flatMap(({ owed, repeated }) =>
      owed < 0 ? [] : [`${repeated} again, and ${written[owed]?.value} not after it`],
    )
  }

  /** Returns steps that no process respecting its leases takes. */
  misdeeds(): Misdeeds {
    const found = { sideBySide: [] as string[], unexplained: [] as string[], fallingAttempts: [] as string[] }
    const states = new Map<string, { running: number | null; endedBy: number | null; attempt: number }>()
    const killed = new Set<number>()
    for (const { pid, step, value, attempt } of this.lines) {
      if (step === 'KILLED') killed.add(pid)
      const state = states.get(value) ?? { running: null, endedBy: null, attempt: 0 }
      if (step === 'START') {
        const what = `${value} by ${pid}`
        if (isAlive(state.running, killed)) found.sideBySide.push(`${what} beside ${state.running}`)
        if (isAlive(state.endedBy, killed)) found.unexplained.push(`${what} after ${state.endedBy}`)
        if (attempt < state.attempt) found.fallingAttempts.push(`${what}: ${attempt} after ${state.attempt}`)
        states.set(value, { ...state, running: pid, attempt })
      } else if (step === 'OK' || step === 'DEAD') states.set(value, { ...state, running: null, endedBy: pid })
      else if (step === 'FAIL') states.set(value, { ...state, running: null })
    }
    return found
  }
}

function isAlive(pid: number | null, killed: ReadonlySet<number>): boolean {
  return pid !== null && !killed.has(pid)
}
