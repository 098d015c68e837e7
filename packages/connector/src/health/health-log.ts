/** Remembers since when each finding holds, and says what health is now. */

import type { ConnectorHealth } from '../api/connector-report.ts'
import { assess, type Finding, type HealthSnapshot, statusOf } from './assess-health.ts'

/** More would be read by nobody; the number of the others is said. */
const mostReasons = 50

/** See the file's comment. */
export class HealthLog {
  #since: ReadonlyMap<string, number> = new Map()

  /** Looks. A finding that was not there at the last look holds since now, unless it says itself since when. */
  look(snapshot: HealthSnapshot): ConnectorHealth {
    const findings = assess(snapshot)
    this.#since = new Map(
      findings.map(({ key, sinceMs }) => [key, sinceMs ?? this.#since.get(key) ?? snapshot.nowMs] as const),
    )
    return {
      status: statusOf(findings),
      reasons: shortened(findings.filter(({ status }) => status !== 'UP').map((finding) => this.#say(finding))),
      remarks: shortened(findings.filter(({ status }) => status === 'UP').map(({ what }) => what)),
    }
  }

  #say({ key, what, hint }: Finding): string {
    const since = new Date(this.#since.get(key) ?? 0).toISOString()
    const end = /[.!?]$/.test(what) ? '' : '.'
    return `${what}${end} Since ${since}. ${hint}`
  }
}

function shortened(texts: readonly string[]): readonly string[] {
  if (texts.length <= mostReasons) return texts
  return [...texts.slice(0, mostReasons), `And ${texts.length - mostReasons} more.`]
}
