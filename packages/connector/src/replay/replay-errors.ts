import { describeThrown, WaybillError } from '@waybill/core'
import type { ReplayReport } from '../api/dead-letter-admin.ts'

/** A replay stopped before its end. Confirmed copies stay replayed, and the replay's position is behind them. */
export class ReplayInterruptedError extends WaybillError {
  static override readonly code = 'WAYBILL_REPLAY_INTERRUPTED'
  readonly topic: string
  readonly report: ReplayReport

  constructor(topic: string, report: ReplayReport, cause: unknown) {
    super(`Replay of ${topic} interrupted after ${report.replayed} copies: ${describeThrown(cause)}`, {
      cause,
      impact: 'No dead letter was lost: all are still in their topic. Confirmed copies stay replayed.',
      hint: 'Run the replay again: it continues after its last commit, and may repeat copies sent since.',
    })
    this.topic = topic
    this.report = report
  }
}
