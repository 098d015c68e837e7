/** Remembers since when each finding holds, and says what health is now. */

import { assess, type Finding, type HealthSnapshot, type HealthStatus, statusOf } from './health.ts'

/** How a connector is. */
export interface Health {
  readonly status: HealthStatus
  /** Why it is not UP, the worst first: what, since when, what to do. */
  readonly reasons: readonly string[]
  /** What is worth knowing and no reason for alarm: bindings that were told to stop. */
  readonly remarks: readonly string[]
}

/** More would be read by nobody; the number of the others is said. */
const mostReasons = 50

/** See the file's comment. */
export class HealthLog {
  #since: ReadonlyMap<string, number> = new Map()

  /** Looks. A finding that was not there at the last look holds since now, unless it says itself since when. */
  look(snapshot: HealthSnapshot): Health {
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

  #say({ key, what, next }: Finding): string {
    const since = new Date(this.#since.get(key) ?? 0).toISOString()
    const end = /[.!?]$/.test(what) ? '' : '.'
    return `${what}${end} Since ${since}. ${next}`
  }
}

function shortened(texts: readonly string[]): readonly string[] {
  if (texts.length <= mostReasons) return texts
  return [...texts.slice(0, mostReasons), `And ${texts.length - mostReasons} more.`]
}
