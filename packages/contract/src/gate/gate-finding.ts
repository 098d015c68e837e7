import { type ContractWaiver, holdsOn, isWaivedBy } from '../file/waiver.ts'
import type { ContractFinding } from '../rule/finding.ts'
import { canonicalText } from '../schema/json.ts'

/** A finding of the gate, with the file that it belongs to. */
export interface GateFinding extends ContractFinding {
  readonly event: string
  /** Path of the contract file inside its folder. */
  readonly file: string
  /** The older version of the comparison; absent for a finding about one version. */
  readonly against?: number
  /** The reason of the waiver that covers the finding. */
  readonly waived?: string
}

/** A waiver that has to go: its last day is over, or it covers nothing. */
export interface StaleWaiver extends ContractWaiver {
  readonly why: 'EXPIRED' | 'UNUSED'
  /** INFO for one that the base has, too: it did its work with an earlier change. */
  readonly severity: 'BREAKING' | 'INFO'
}

/** Marks the findings that a waiver covers, and finds the waivers that have to go. */
export function applyWaivers(
  findings: readonly GateFinding[],
  waivers: readonly ContractWaiver[],
  released: readonly ContractWaiver[],
  today: string,
): { readonly findings: readonly GateFinding[]; readonly staleWaivers: readonly StaleWaiver[] } {
  const known = new Set(released.map(canonicalText))
  const inForce = waivers.filter((waiver) => holdsOn(waiver, today))
  const judged = findings.map((finding): GateFinding => {
    const waiver = inForce.find((each) => isWaivedBy(each, finding.event, finding))
    return waiver === undefined ? finding : { ...finding, waived: waiver.reason }
  })
  const staleWaivers = waivers.flatMap((waiver): StaleWaiver[] => {
    if (!holdsOn(waiver, today)) return [{ ...waiver, why: 'EXPIRED', severity: 'BREAKING' }]
    if (findings.some((finding) => isWaivedBy(waiver, finding.event, finding))) return []
    return [{ ...waiver, why: 'UNUSED', severity: known.has(canonicalText(waiver)) ? 'INFO' : 'BREAKING' }]
  })
  return { findings: judged, staleWaivers }
}
