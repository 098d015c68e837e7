import type { EventCatalog, Schemas } from '@waybill/core'
import { upcastPayload } from '@waybill/core/internal'
import { type ContractFile, contractPath } from '../file/contract-file.ts'
import type { GateFinding } from '../gate/gate-finding.ts'
import { findingOf } from '../rule/finding.ts'
import { sampleEvents } from '../sample/sample-events.ts'
import type { JsonValue } from '../schema/json.ts'

/** The catalogs of both sides, and events to ask them about. */
export interface CheckKeysOptions {
  readonly catalogs: readonly EventCatalog<Schemas>[]
  readonly existing: readonly EventCatalog<Schemas>[]
  /** The contracts of the base. */
  readonly released: readonly ContractFile[]
  /** Events of the user beside the generated ones, by name. */
  readonly samples: Readonly<Record<string, readonly unknown[]>>
}

/** Events generated for each contract. */
const samplesPerContract = 20

/** Finds events for which the catalogs of the two sides have different keys. */
export async function checkKeys(options: CheckKeysOptions): Promise<readonly GateFinding[]> {
  const { catalogs, existing, released, samples } = options
  const findings: GateFinding[] = []
  for (const contract of released) {
    const { event, version } = contract
    const [before, after] = [catalogWith(existing, event), catalogWith(catalogs, event)]
    if (before === undefined || after === undefined) continue
    const given = Object.hasOwn(samples, event) ? (samples[event] as readonly JsonValue[]) : []
    for (const value of [...given, ...sampleEvents(contract.schema, { count: samplesPerContract })]) {
      const [was, is] = [await keyOf(before, event, version, value), await keyOf(after, event, version, value)]
      if (was === undefined || is === undefined || was === is) continue
      findings.push(changed(contract, was, is, value))
      break
    }
  }
  return findings
}

function catalogWith(catalogs: readonly EventCatalog<Schemas>[], event: string): EventCatalog<Schemas> | undefined {
  return catalogs.find(({ definitions }) => Object.hasOwn(definitions, event))
}

/** Returns the key of an event; undefined if the catalog does not read it, which other checks report. */
async function keyOf(
  catalog: EventCatalog<Schemas>,
  event: string,
  version: number,
  value: JsonValue,
): Promise<unknown> {
  try {
    const payload = await upcastPayload(catalog, event, version, structuredClone(value))
    return catalog.definitions[event]?.key(payload)
  } catch {
    return undefined
  }
}

function changed(contract: ContractFile, was: unknown, is: unknown, example: JsonValue): GateFinding {
  const { event, version } = contract
  const message = `the key of ${event} version ${version} was ${JSON.stringify(was)} and is ${JSON.stringify(is)} for the example`
  const finding = findingOf('keyChanged', { direction: null, at: { older: '', newer: '' }, message, example })
  return { ...finding, event, file: contractPath(contract) }
}
