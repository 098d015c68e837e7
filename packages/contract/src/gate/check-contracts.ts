import { compareSchemas } from '../compare/compare-schemas.ts'
import type { ContractFile } from '../file/contract-file.ts'
import { contractPath } from '../file/contract-file.ts'
import { type ContractWaiver, holdsOn, isWaivedBy } from '../file/waiver.ts'
import type { CompatibilityMode } from '../policy/compatibility-mode.ts'
import { type ContractFinding, findingOf } from '../rule/finding.ts'
import { canonicalText } from '../schema/json.ts'

/** The contracts to check, and how strictly. */
export interface CheckContractsOptions {
  /** The contracts as they are now. */
  readonly current: readonly ContractFile[]
  /** The contracts of the base: all versions that were released. */
  readonly against: readonly ContractFile[]
  /** @defaultValue `FULL` */
  readonly policy?: CompatibilityMode | undefined
  /** Makes warnings BREAKING, and what cannot be told. @defaultValue false */
  readonly strict?: boolean | undefined
  readonly waivers?: readonly ContractWaiver[] | undefined
  /** The day on which waivers are judged, as `2026-12-31`. */
  readonly today: string
}

/** A finding of the gate, with the file that it belongs to. */
export interface GateFinding extends ContractFinding {
  readonly event: string
  /** Path of the contract file inside its folder. */
  readonly file: string
  /** The reason of the waiver that covers the finding. */
  readonly waived?: string
}

/** The result of a check. */
export interface ContractReport {
  readonly findings: readonly GateFinding[]
  /** Waivers that cover nothing, or whose last day is over. */
  readonly staleWaivers: readonly ContractWaiver[]
  /** Contracts compared with an older one. */
  readonly compared: number
  /** True if no finding is BREAKING without a waiver. */
  readonly passes: boolean
}

/**
 * Compares the contracts of a repository with those of its base: with the last version, or with all kept versions where the
 * policy is transitive. An edited version is compared with itself, since consumers may have been built with either.
 */
export function checkContracts(options: CheckContractsOptions): ContractReport {
  const { current, against, policy = 'FULL', strict = false, waivers = [], today } = options
  const severity = strict ? 'BREAKING' : 'WARNING'
  let compared = 0
  const findings = current.flatMap((contract): GateFinding[] => {
    const file = contractPath(contract)
    return basesOf(contract, against, policy).flatMap((base) => {
      if (canonicalText(base.schema) === canonicalText(contract.schema)) return []
      compared += 1
      const isSameVersion = base.version === contract.version
      const edited = isSameVersion
        ? [
            findingOf('versionEdited', {
              severity,
              direction: null,
              at: { older: '', newer: '' },
              message: `${file} was edited after its release`,
            }),
          ]
        : []
      const differences = compareSchemas(base.schema, contract.schema, {
        mode: policy,
        strict,
        isSameVersion,
        format: 'ASSERTION',
      })
      return [...edited, ...differences].map((finding) => ({ ...finding, event: contract.event, file }))
    })
  })
  const gone = against
    .filter(({ event }) => !current.some((contract) => contract.event === event))
    .map(
      (contract): GateFinding => ({
        ...findingOf('eventRemoved', {
          severity,
          direction: 'BACKWARD',
          at: { older: '', newer: null },
          message: `${contract.event} version ${contract.version} is no longer among the contracts`,
        }),
        event: contract.event,
        file: contractPath(contract),
      }),
    )
  const judged = [...findings, ...gone].map((finding) => waive(finding, waivers, today))
  const staleWaivers = waivers.filter(
    (waiver) => !holdsOn(waiver, today) || !judged.some((finding) => isWaivedBy(waiver, finding.event, finding)),
  )
  const passes = judged.every((finding) => finding.severity !== 'BREAKING' || finding.waived !== undefined)
  return { findings: judged, staleWaivers, compared, passes: passes && staleWaivers.length === 0 }
}

function basesOf(contract: ContractFile, against: readonly ContractFile[], policy: CompatibilityMode): ContractFile[] {
  const earlier = against
    .filter(({ event, version }) => event === contract.event && version <= contract.version)
    .toSorted((one, other) => other.version - one.version)
  return policy.endsWith('_TRANSITIVE') ? earlier : earlier.slice(0, 1)
}

function waive(finding: GateFinding, waivers: readonly ContractWaiver[], today: string): GateFinding {
  const waiver = waivers.find((each) => holdsOn(each, today) && isWaivedBy(each, finding.event, finding))
  return waiver === undefined ? finding : { ...finding, waived: waiver.reason }
}
