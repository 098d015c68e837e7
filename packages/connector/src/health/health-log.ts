/** Creates health reports, and remembers the start time of each finding. */

import type { ConnectorHealth } from '../api/connector-report.ts'
import { assess, type Finding, type HealthSnapshot, statusOf } from './assess-health.ts'

/** The reasons listed in a report; the rest are only counted. */
const maxReasons = 50

/** Creates health reports. */
export class HealthLog {
  #since: ReadonlyMap<string, number> = new Map()

  /** Creates a report. A finding absent from the last report starts now, unless it has a start time of its own. */
  report(snapshot: HealthSnapshot): ConnectorHealth {
    const findings = assess(snapshot)
    this.#since = new Map(
      findings.map(({ key, sinceMs }) => [key, sinceMs ?? this.#since.get(key) ?? snapshot.nowMs] as const),
    )
    return {
      status: statusOf(findings),
      reasons: shortened(findings.filter(({ status }) => status !== 'UP').map((finding) => this.#describe(finding))),
      remarks: shortened(findings.filter(({ status }) => status === 'UP').map(({ what }) => what)),
      findings: findings.slice(0, maxReasons).map(({ key, status, binding, what, hint }) => ({
        status,
        binding,
        what,
        hint,
        sinceMs: this.#since.get(key) ?? snapshot.nowMs,
      })),
    }
  }

  #describe({ key, what, hint }: Finding): string {
    const since = new Date(this.#since.get(key) ?? 0).toISOString()
    const end = /[.!?]$/.test(what) ? '' : '.'
    return `${what}${end} Since ${since}. ${hint}`
  }
}

function shortened(texts: readonly string[]): readonly string[] {
  if (texts.length <= maxReasons) return texts
  return [...texts.slice(0, maxReasons), `And ${texts.length - maxReasons} more.`]
}
