import { compareSchemas, type SchemaWriter } from '../compare/compare-schemas.ts'
import { type ContractFile, contractPath } from '../file/contract-file.ts'
import type { ContractWaiver } from '../file/waiver.ts'
import { type CompatibilityMode, directionsOf } from '../policy/compatibility-mode.ts'
import { type ContractFinding, findingOf } from '../rule/finding.ts'
import { canonicalText } from '../schema/json.ts'
import { applyWaivers, type GateFinding, type StaleWaiver } from './gate-finding.ts'
import { type LibraryChange, libraryChanges } from './library-changes.ts'
import { hasSameMeaning } from './same-meaning.ts'

/** The contracts to check, and how strictly. */
export interface CheckContractsOptions {
  /** The contracts as they are now. */
  readonly current: readonly ContractFile[]
  /** The contracts of the base: all versions that were released. */
  readonly against: readonly ContractFile[]
  /**
   * Every change is compared with all released versions. Without `_TRANSITIVE`, differences from versions before the last one
   * are warnings.
   *
   * @defaultValue `FULL`
   */
  readonly policy?: CompatibilityMode | undefined
  /** Makes warnings BREAKING, and what cannot be told. @defaultValue false */
  readonly strict?: boolean | undefined
  /** Findings of other checks, to be judged together with these. */
  readonly others?: readonly GateFinding[] | undefined
  readonly waivers?: readonly ContractWaiver[] | undefined
  /** The waivers of the base: those that cover nothing any more are only noted. @defaultValue none */
  readonly releasedWaivers?: readonly ContractWaiver[] | undefined
  /** The day on which waivers are judged, as `2026-12-31`. */
  readonly today: string
}

/** The result of a check. */
export interface ContractReport {
  readonly findings: readonly GateFinding[]
  readonly staleWaivers: readonly StaleWaiver[]
  /** Other schema libraries, or versions of them, than those that wrote the released contracts. */
  readonly libraries: readonly LibraryChange[]
  /** Comparisons of two contracts that differ. */
  readonly compared: number
  /** True if no finding is BREAKING without a waiver, and no stale waiver is BREAKING. */
  readonly passes: boolean
}

/**
 * Compares the contracts of a repository with all versions that its base released. An edited version is compared with
 * itself, too, since consumers may have been built with either.
 *
 * New readers are given the upcast payload of versions from which steps lead to theirs, so what they would refuse of them is a
 * warning, with `strict` too. `crossCheck` tries the steps.
 */
export function checkContracts(options: CheckContractsOptions): ContractReport {
  const { current, against, others = [], waivers = [], releasedWaivers = [], today } = options
  const pairs = current.flatMap((contract) => pairsOf(contract, current, against))
  const found = [
    ...pairs.flatMap((pair) => compare(pair, options)),
    ...current.flatMap((contract) => [...movesOf(contract, options), ...formsOf(contract, options)]),
    ...against.flatMap((contract) => removalsOf(contract, options)),
    ...others.map(
      (finding): GateFinding =>
        options.strict === true && finding.severity === 'WARNING' ? { ...finding, severity: 'BREAKING' } : finding,
    ),
  ]
  const { findings, staleWaivers } = applyWaivers(withoutRepeats(found), waivers, releasedWaivers, today)
  const passes = findings.every(({ severity, waived }) => severity !== 'BREAKING' || waived !== undefined)
  return {
    findings,
    staleWaivers,
    libraries: libraryChanges(current, against),
    compared: pairs.length,
    passes: passes && staleWaivers.every(({ severity }) => severity === 'INFO'),
  }
}

interface Pair {
  readonly older: ContractFile
  readonly newer: ContractFile
  /** Whether no released version lies between the two. */
  readonly isLast: boolean
}

/**
 * An unchanged contract was compared when it was new. It is compared again with earlier versions that were edited, and with those
 * from which a step no longer leads to it.
 */
function pairsOf(newer: ContractFile, current: readonly ContractFile[], against: readonly ContractFile[]): Pair[] {
  const isEarlier = ({ event, version }: ContractFile): boolean => event === newer.event && version < newer.version
  const own = against.find((contract) => isSameVersion(contract, newer))
  const isEdited = (contract: ContractFile): boolean =>
    against.some((released) => isSameVersion(released, contract) && !isSameWriter(released, contract))
  const lostSteps = (own?.upcasts ?? []).filter((version) => newer.upcasts?.includes(version) !== true)
  const olders =
    own !== undefined && isSameWriter(own, newer)
      ? current.filter(
          (contract) => isEarlier(contract) && (isEdited(contract) || lostSteps.includes(contract.version)),
        )
      : [...(own === undefined ? [] : [own]), ...against.filter(isEarlier)]
  return olders
    .toSorted((one, other) => other.version - one.version)
    .map((older, index) => ({ older, newer, isLast: index === 0 }))
}

function compare({ older, newer, isLast }: Pair, options: CheckContractsOptions): GateFinding[] {
  const { policy = 'FULL', strict = false } = options
  const isOneVersion = older.version === newer.version
  const place = { event: newer.event, file: contractPath(newer), against: older.version }
  if (isOneVersion && older.undeclared === newer.undeclared && hasSameMeaning(older.schema, newer.schema))
    return [{ ...libraryFinding(older, newer), ...place }]
  const differences = differencesOf({ older, newer }, options)
  const edited = isOneVersion ? [editFinding(newer, differences.length === 0, options)] : []
  const isSoft = !isLast && !strict && !policy.endsWith('_TRANSITIVE')
  return [...edited, ...differences].map((finding): GateFinding => {
    const isWarning = isSoft && finding.severity === 'BREAKING'
    return { ...finding, ...(isWarning ? { severity: 'WARNING' } : {}), ...place }
  })
}

/** Upcast steps help new readers only, so each direction is compared by itself where there are steps. */
function differencesOf({ older, newer }: Omit<Pair, 'isLast'>, options: CheckContractsOptions): ContractFinding[] {
  const { policy = 'FULL', strict = false } = options
  const compareIn = (mode: CompatibilityMode): readonly ContractFinding[] =>
    compareSchemas(older.schema, newer.schema, {
      mode,
      strict,
      isSameVersion: older.version === newer.version,
      format: 'ASSERTION',
      writer: { older: writerOf(older), newer: writerOf(newer) },
    })
  if (newer.upcasts?.includes(older.version) !== true) return [...compareIn(policy)]
  return directionsOf(policy).flatMap((direction) => {
    const found = compareIn(direction)
    return direction === 'FORWARD'
      ? found.filter((finding) => finding.direction !== 'BACKWARD')
      : found.map((finding) => (finding.severity === 'BREAKING' ? { ...finding, severity: 'WARNING' } : finding))
  })
}

/** An optional property with a default needs no new version: an edit that nothing speaks against is only noted. */
function editFinding(
  { event, version }: ContractFile,
  isHarmless: boolean,
  options: CheckContractsOptions,
): ContractFinding {
  const severity = isHarmless ? 'INFO' : severityOf(options)
  return aboutFile('versionEdited', severity, `${event} version ${version} was edited after its release`)
}

function libraryFinding(older: ContractFile, newer: ContractFile): ContractFinding {
  const what = `${newer.event} version ${newer.version} is spelled in another way than in the base`
  return aboutFile('libraryChanged', 'INFO', `${what}${byLibrary(older, newer)}`)
}

function byLibrary(older: ContractFile, newer: ContractFile): string {
  const [change] = libraryChanges([newer], [older])
  return change === undefined ? '' : `, by ${change.to} instead of ${change.from}`
}

function movesOf(contract: ContractFile, options: CheckContractsOptions): GateFinding[] {
  const { event, topic } = contract
  const last = lastReleased(contract, options)
  if (last === undefined || last.topic === topic || last.topic === '' || topic === '') return []
  const message = `${event} moved from the topic ${last.topic} to ${topic}`
  const file = contractPath(contract)
  return [{ ...aboutFile('topicChanged', severityOf(options), message), event, file, against: last.version }]
}

/** Records in another form are read by no consumer that knows the former one alone. */
function formsOf(contract: ContractFile, options: CheckContractsOptions): GateFinding[] {
  const { event } = contract
  const last = lastReleased(contract, options)
  if (last === undefined || formOf(last) === formOf(contract)) return []
  const message = `records of ${event} are ${formOf(contract)}, and were ${formOf(last)}`
  const file = contractPath(contract)
  return [{ ...aboutFile('formChanged', severityOf(options), message), event, file, against: last.version }]
}

function formOf({ wireFormat, codec }: ContractFile): string {
  const format = wireFormat ?? 'JSON'
  return codec === undefined ? format : `${format} with payloads of ${codec}`
}

function removalsOf(released: ContractFile, options: CheckContractsOptions): GateFinding[] {
  const { current } = options
  const { event, version } = released
  if (current.some((contract) => isSameVersion(contract, released))) return []
  const isKnown = current.some((contract) => contract.event === event)
  const message = `${event} version ${version} is no longer among the contracts`
  const finding = aboutFile(isKnown ? 'versionRemoved' : 'eventRemoved', severityOf(options), message)
  const at = { older: '', newer: null }
  return [{ ...finding, direction: 'BACKWARD', at, event, file: contractPath(released) }]
}

function aboutFile(
  rule: Parameters<typeof findingOf>[0],
  severity: ContractFinding['severity'],
  message: string,
): ContractFinding {
  return findingOf(rule, { severity, direction: null, at: { older: '', newer: '' }, message })
}

function severityOf({ strict = false }: CheckContractsOptions): 'BREAKING' | 'WARNING' {
  return strict ? 'BREAKING' : 'WARNING'
}

function isSameVersion(one: ContractFile, other: ContractFile): boolean {
  return one.event === other.event && one.version === other.version
}

/** Tells whether the writers of two contracts write the same. */
function isSameWriter(one: ContractFile, other: ContractFile): boolean {
  return canonicalText(one.schema) === canonicalText(other.schema) && one.undeclared === other.undeclared
}

function writerOf({ undeclared }: ContractFile): SchemaWriter {
  return undeclared === 'ALLOW' ? 'ANY' : 'DECLARED'
}

/** Returns the newest released contract of the event up to a version. */
function lastReleased({ event, version }: ContractFile, { against }: CheckContractsOptions): ContractFile | undefined {
  return against
    .filter((released) => released.event === event && released.version <= version)
    .toSorted((one, other) => other.version - one.version)[0]
}

/** A difference from the last version mostly is one from every earlier version, too. The first one stays. */
function withoutRepeats(findings: readonly GateFinding[]): GateFinding[] {
  const seen = new Set<string>()
  return findings.filter(({ code, file, message, direction }) => {
    const key = JSON.stringify([code, file, message, direction])
    return !seen.has(key) && seen.add(key)
  })
}
