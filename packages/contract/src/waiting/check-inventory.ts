import { describeThrown, type EventCatalog, type Schemas } from '@waybill/core'
import { upcastPayload } from '@waybill/core/internal'
import { compareSchemas } from '../compare/compare-schemas.ts'
import { type ContractFile, contractPath, contractsOf } from '../file/contract-file.ts'
import type { GateFinding } from '../gate/gate-finding.ts'
import { type FindingSeverity, findingOf } from '../rule/finding.ts'
import type { RuleName } from '../rule/rules.ts'
import { sampleEvents } from '../sample/sample-events.ts'
import type { JsonValue } from '../schema/json.ts'
import type { InventoryCount, WaitingInventory } from './inventory.ts'

/** The new catalogs, the released contracts, and what waits. */
export interface CheckInventoryOptions {
  readonly catalogs: readonly EventCatalog<Schemas>[]
  /** Contract files of all versions that were released. */
  readonly contracts: readonly ContractFile[]
  readonly inventory: WaitingInventory
  /** Events to generate for each version. @defaultValue 60 */
  readonly events?: number | undefined
}

/**
 * Checks waiting records without a cluster: events generated from the contract file of each waiting version go through the
 * steps and the schema of the new catalog. A version without steps is also compared by meaning.
 */
export async function checkInventory(options: CheckInventoryOptions): Promise<readonly GateFinding[]> {
  const { inventory } = options
  const findings: GateFinding[] = []
  for (const entry of inventory.counts.filter(({ count }) => count > 0)) findings.push(...(await check(entry, options)))
  return inventory.complete ? findings : [...findings, notComplete(inventory)]
}

/** Belongs to no event: waivers name it `*`. */
function notComplete({ takenAt }: WaitingInventory): GateFinding {
  const message = `the inventory of ${takenAt} was not read to its end: records of other versions may wait`
  return { ...finding({ event: '*', version: 1 }, 'waitingNotTold', 'WARNING', message), file: '' }
}

async function check(entry: InventoryCount, options: CheckInventoryOptions): Promise<readonly GateFinding[]> {
  const { event, version, count } = entry
  const waits = `${count} ${count === 1 ? 'record' : 'records'} of ${event} version ${version} ${count === 1 ? 'waits' : 'wait'}`
  const catalog = options.catalogs.find(({ definitions }) => Object.hasOwn(definitions, event))
  if (catalog === undefined)
    return [finding(entry, 'waitingRefused', 'BREAKING', `${waits}, and no catalog has the event`)]
  const newest = catalog.definitions[event]?.version ?? 0
  if (version > newest) {
    const read = `${waits}, and the catalog knows version ${newest} at most: they are read as version 1`
    return [finding(entry, 'waitingNotTold', 'WARNING', read)]
  }
  const contract = options.contracts.find((file) => file.event === event && file.version === version)
  if (contract === undefined)
    return [finding(entry, 'waitingNotTold', 'WARNING', `${waits}, and the version has no contract file`)]
  return tryVersion(entry, waits, catalog, contract, options)
}

async function tryVersion(
  entry: InventoryCount,
  waits: string,
  catalog: EventCatalog<Schemas>,
  contract: ContractFile,
  { events = 60 }: CheckInventoryOptions,
): Promise<readonly GateFinding[]> {
  const { event, version } = entry
  const definition = catalog.definitions[event]
  const newest = contractsOf(catalog).find((each) => each.event === event)
  const differences =
    definition?.upcasters === undefined && newest !== undefined
      ? compareSchemas(contract.schema, newest.schema, { mode: 'BACKWARD', format: 'ASSERTION', isSameVersion: false })
      : []
  const examples = differences.flatMap(({ example }) => (example === undefined ? [] : [example]))
  const tried = [...sampleEvents(contract.schema, { count: events }), ...examples]
  if (tried.length === 0)
    return [finding(entry, 'waitingNotTold', 'WARNING', `${waits}, and no event could be generated from its contract`)]
  const refused: { readonly value: JsonValue; readonly complaint: string }[] = []
  for (const value of tried) {
    const complaint = await complaintAbout(catalog, event, version, value)
    if (complaint !== undefined) refused.push({ value, complaint })
  }
  const [first] = refused.toSorted((one, other) => JSON.stringify(one).length - JSON.stringify(other).length)
  if (first !== undefined) {
    const share = `${refused.length} of ${tried.length} events of that version`
    const message = `${waits}, and the catalog refuses ${share}: ${first.complaint}`
    return [finding(entry, 'waitingRefused', 'BREAKING', message, first.value)]
  }
  const unproven = differences.filter(({ direction, severity }) => direction === 'BACKWARD' && severity !== 'INFO')
  return unproven
    .filter(({ example }) => example === undefined)
    .map(({ message }) => finding(entry, 'waitingNotTold', 'WARNING', `${waits}, and it is not proven: ${message}`))
}

async function complaintAbout(
  catalog: EventCatalog<Schemas>,
  event: string,
  version: number,
  value: JsonValue,
): Promise<string | undefined> {
  try {
    await upcastPayload(catalog, event, version, structuredClone(value))
    return undefined
  } catch (error) {
    return describeThrown(error)
  }
}

function finding(
  { event, version }: Pick<InventoryCount, 'event' | 'version'>,
  rule: RuleName,
  severity: FindingSeverity,
  message: string,
  example?: JsonValue,
): GateFinding {
  const found = findingOf(rule, {
    severity,
    direction: 'BACKWARD',
    at: { older: '', newer: null },
    message,
    ...(example === undefined ? {} : { example }),
  })
  return { ...found, event, file: contractPath({ event, version }) }
}
