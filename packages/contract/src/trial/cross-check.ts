import { describeThrown, type EventCatalog, type Schemas, StateError } from '@waybill/core'
import { systemTimers, upcastPayload, versionsOf } from '@waybill/core/internal'
import { type ContractFile, contractPath } from '../file/contract-file.ts'
import type { GateFinding } from '../gate/gate-finding.ts'
import type { CompatibilityDirection } from '../policy/compatibility-mode.ts'
import { type FindingSeverity, findingOf } from '../rule/finding.ts'
import type { RuleName } from '../rule/rules.ts'
import { sampleEvents } from '../sample/sample-events.ts'
import { canonicalText, type JsonValue } from '../schema/json.ts'
import { type ContractConsumer, callHandler } from './contract-consumer.ts'

/** The contracts of both sides, and the code that reads them. */
export interface CrossCheckOptions {
  /** The contracts as they are now. */
  readonly current: readonly ContractFile[]
  /** The contracts of the base: all versions that were released. */
  readonly against: readonly ContractFile[]
  /** Consumers as they are now. */
  readonly consumers: readonly ContractConsumer[]
  /** Consumers as they are in the base, which run while a deployment rolls. @defaultValue none */
  readonly existing?: readonly ContractConsumer[] | undefined
  /** Events that are tried beside the generated ones, by the name of the event. @defaultValue none */
  readonly samples?: Readonly<Record<string, readonly unknown[]>> | undefined
  /** Events to generate for each contract. @defaultValue 40 */
  readonly events?: number | undefined
  /** @defaultValue 5,000 */
  readonly handlerTimeoutMs?: number | undefined
}

/** The result of running consumers. */
export interface CrossCheckReport {
  readonly findings: readonly GateFinding[]
  /** Events that a consumer was given. */
  readonly tried: number
}

/**
 * Runs consumers with generated events: those of the base with events of changed contracts, and those of today with events of
 * every released version, through their upcast steps. An event counts if its writer accepts it, where the writer's catalog is
 * known.
 */
export async function crossCheck(options: CrossCheckOptions): Promise<CrossCheckReport> {
  const { current, against, consumers, existing = [] } = options
  const findings: GateFinding[] = []
  let tried = 0
  const run = async (trial: Trial): Promise<void> => {
    const result = await runTrial(trial, options)
    findings.push(...result.findings)
    tried += result.tried
  }
  for (const contract of newContracts(current, against))
    await run({ contract, direction: 'FORWARD', readers: existing, writers: consumers })
  for (const contract of against)
    await run({ contract, direction: 'BACKWARD', readers: consumers, writers: existing, before: existing })
  return { findings, tried }
}

/** Returns the contracts that events are written with and that were not released as they are: consumers do not know them. */
export function newContracts(
  current: readonly ContractFile[],
  against: readonly ContractFile[],
): readonly ContractFile[] {
  return current.filter((contract) => isNewest(contract, current) && !isReleased(contract, against))
}

/** Events of one contract for several readers. */
interface Trial {
  readonly contract: ContractFile
  readonly direction: CompatibilityDirection
  readonly readers: readonly ContractConsumer[]
  /** Consumers whose catalogs also write the events. */
  readonly writers: readonly ContractConsumer[]
  /** Consumers that read these events so far. */
  readonly before?: readonly ContractConsumer[]
}

async function runTrial(trial: Trial, options: CrossCheckOptions): Promise<CrossCheckReport> {
  const { contract, readers, writers, before = [] } = trial
  const knowing = readers.filter(({ events }) => Object.hasOwn(events.definitions, contract.event))
  if (knowing.length === 0) return { findings: [], tried: 0 }
  const events = await writtenEvents(contract, writers, options)
  if (events.length === 0) return { findings: [notTried(contract, 'no event could be generated')], tried: 0 }
  const findings: GateFinding[] = []
  for (const consumer of knowing) {
    const failures: Failure[] = []
    for (const value of events) {
      const complaint = await read(consumer, contract, value, options)
      if (complaint !== undefined) failures.push({ value, complaint })
    }
    const [shortest] = failures.toSorted((one, other) => sizeOf(one) - sizeOf(other))
    if (shortest === undefined) continue
    const predecessor = before.find(({ name }) => name === consumer.name)
    const failedBefore =
      predecessor !== undefined && (await read(predecessor, contract, shortest.value, options)) !== undefined
    const count = `${failures.length} of ${events.length} events`
    findings.push(refusal(trial, consumer, shortest, count, failedBefore))
  }
  return { findings, tried: events.length * knowing.length }
}

interface Failure {
  readonly value: JsonValue
  readonly complaint: string
}

function sizeOf({ value }: Failure): number {
  return JSON.stringify(value).length
}

/** Returns events that the writer of a version accepts: samples of the user first, then generated ones. */
async function writtenEvents(
  { event, version, schema }: ContractFile,
  writers: readonly ContractConsumer[],
  { samples = {}, events = 40 }: CrossCheckOptions,
): Promise<readonly JsonValue[]> {
  const given = Object.hasOwn(samples, event) ? (samples[event] as readonly JsonValue[]) : []
  const writer = writers.map((each) => schemaOf(each.events, event, version)).find((each) => each !== undefined)
  const written: JsonValue[] = []
  for (const value of [...given, ...sampleEvents(schema, { count: events })])
    if (writer === undefined || (await accepts(writer, value))) written.push(value)
  return written
}

function schemaOf(catalog: EventCatalog<Schemas>, event: string, version: number): Schemas[string] | undefined {
  if (!Object.hasOwn(catalog.definitions, event)) return undefined
  return versionsOf(catalog, event).find((each) => each.version === version)?.schema
}

async function accepts(schema: Schemas[string], value: JsonValue): Promise<boolean> {
  try {
    return (await schema['~standard'].validate(structuredClone(value))).issues === undefined
  } catch {
    return false // A writer that throws writes nothing.
  }
}

/** Lets a consumer read an event and returns what it says against it. */
async function read(
  consumer: ContractConsumer,
  { event, version }: ContractFile,
  value: JsonValue,
  { handlerTimeoutMs = 5_000 }: CrossCheckOptions,
): Promise<string | undefined> {
  const { events } = consumer
  const late = new AbortController()
  const timer = systemTimers.schedule(handlerTimeoutMs, () =>
    late.abort(new StateError(`it did not answer within ${handlerTimeoutMs} ms`)),
  )
  try {
    const payload = await upcastPayload(events, event, version, structuredClone(value))
    const key: unknown = events.definitions[event]?.key(payload)
    await callHandler(consumer, { name: event, version, key: key as string | null, payload }, late.signal)
    return undefined
  } catch (error) {
    return describeThrown(error)
  } finally {
    timer[Symbol.dispose]()
  }
}

function refusal(
  { contract, direction }: Trial,
  { name }: ContractConsumer,
  { value, complaint }: Failure,
  count: string,
  failedBefore: boolean,
): GateFinding {
  const isStep = complaint.includes(', upcast from version ')
  const rule: RuleName = direction === 'FORWARD' ? 'readerRefuses' : isStep ? 'upcastFails' : 'oldEventRefused'
  const who = direction === 'FORWARD' ? `${name} of the base` : name
  const since = failedBefore ? '; it did so in the base, too' : ''
  const message = `${who} refuses ${count} of ${contract.event} version ${contract.version}: ${complaint}${since}`
  return about(contract, rule, failedBefore ? 'INFO' : 'BREAKING', message, { direction, example: value })
}

function notTried(contract: ContractFile, why: string): GateFinding {
  const message = `${contract.event} version ${contract.version} was not tried with consumers: ${why}`
  return about(contract, 'notTried', 'WARNING', message, { direction: null })
}

/** Returns the finding that the code of the base could not be loaded. */
export function baseNotLoaded(contract: ContractFile, why: string): GateFinding {
  return about(contract, 'notTried', 'WARNING', `the consumers of the base could not be loaded: ${why}`, {
    direction: null,
  })
}

function about(
  contract: ContractFile,
  rule: RuleName,
  severity: FindingSeverity,
  message: string,
  fields: { readonly direction: CompatibilityDirection | null; readonly example?: JsonValue },
): GateFinding {
  const finding = findingOf(rule, { severity, at: { older: '', newer: '' }, message, ...fields })
  return { ...finding, event: contract.event, file: contractPath(contract) }
}

function isNewest({ event, version }: ContractFile, contracts: readonly ContractFile[]): boolean {
  return contracts.every((other) => other.event !== event || other.version <= version)
}

function isReleased(contract: ContractFile, against: readonly ContractFile[]): boolean {
  return against.some(
    (released) =>
      contractPath(released) === contractPath(contract) &&
      canonicalText(released.schema) === canonicalText(contract.schema),
  )
}
