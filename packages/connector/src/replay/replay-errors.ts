import { describeThrown, WaybillError } from '@waybill/core'
import type { ReplayReport } from '../api/dead-letter-admin.ts'

/** A replay could not go on. What it had confirmed by then stays replayed, and its position is behind that. */
export class ReplayInterruptedError extends WaybillError {
  static override readonly code = 'WAYBILL_REPLAY_INTERRUPTED'
  readonly topic: string
  readonly report: ReplayReport

  constructor(topic: string, report: ReplayReport, cause: unknown) {
    super(`The replay of ${topic} ended after ${report.replayed}: ${describeThrown(cause)}`, {
      cause,
      impact: 'Every dead letter is still in its topic, and those that were confirmed are replayed.',
      hint: 'Ask for the replay again: it goes on behind its last commit, and may repeat what was sent since.',
    })
    this.topic = topic
    this.report = report
  }
}
