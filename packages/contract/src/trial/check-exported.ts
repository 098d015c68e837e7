import type { EventCatalog, Schemas } from '@waybill/core'
import { type ContractFile, contractPath, contractsOf, contractText } from '../file/contract-file.ts'
import type { GateFinding } from '../gate/gate-finding.ts'
import { findingOf } from '../rule/finding.ts'
import { nearMisses } from '../sample/near-misses.ts'
import { sampleEvents } from '../sample/sample-events.ts'
import type { JsonValue } from '../schema/json.ts'
import { readSchema } from '../schema/read-schema.ts'
import { createEvaluator } from '../validate/evaluate.ts'
import { droppedChecks } from './dropped-checks.ts'

/** Events for which library and JSON Schema are compared. */
const samples = 40

/**
 * Finds schemas whose library judges events in another way than the JSON Schema that it exports: what the gate compares is then
 * not what writers and readers check. Library and JSON Schema are compared on generated events, and zod's own definitions are
 * searched for checks that it leaves out.
 */
export async function checkExported(catalog: EventCatalog<Schemas>): Promise<readonly GateFinding[]> {
  const again = contractsOf(catalog)
  const findings: GateFinding[] = []
  for (const [index, contract] of contractsOf(catalog).entries()) {
    const { schema } = catalog.definitions[contract.event] ?? {}
    if (schema === undefined) continue
    const report = (message: string, example?: JsonValue): number => findings.push(leftOut(contract, message, example))
    const repeated = again[index]
    if (repeated !== undefined && contractText(repeated) !== contractText(contract))
      report('the library exports another JSON Schema each time, such as of a default that is computed')
    const validate: Validate = (value) => complaintOf(schema, value)
    const refused = await firstRefused(contract, validate)
    const places = droppedChecks(schema)
    for (const place of places) report(`${place}, which the exported JSON Schema leaves out`, refused?.value)
    if (refused !== undefined && places.length === 0)
      report(`${contract.vendor} refuses what the exported JSON Schema accepts: ${refused.complaint}`, refused.value)
    const accepted = await firstAccepted(contract, validate)
    if (accepted !== undefined && places.length === 0)
      report(`${contract.vendor} accepts what the exported JSON Schema refuses`, accepted)
  }
  return findings
}

/** Answers undefined for a value that fits, null where the library does not know. */
type Validate = (value: JsonValue) => Promise<string | null | undefined>

async function firstRefused(
  { schema }: ContractFile,
  validate: Validate,
): Promise<{ readonly value: JsonValue; readonly complaint: string } | undefined> {
  for (const value of sampleEvents(schema, { count: samples })) {
    const complaint = await validate(value)
    if (typeof complaint === 'string') return { value, complaint }
  }
  return undefined
}

async function firstAccepted({ schema }: ContractFile, validate: Validate): Promise<JsonValue | undefined> {
  const evaluate = createEvaluator({ assertsFormat: true })
  const { root } = readSchema(schema)
  const seen = new Set<string>()
  for (const value of sampleEvents(schema, { count: 6, seed: 2 }))
    for (const missed of nearMisses(value)) {
      const text = JSON.stringify(missed)
      if (seen.has(text) || seen.size >= 10 * samples) continue
      seen.add(text)
      if (evaluate(root, missed) === 'NO' && (await validate(missed)) === undefined) return missed
    }
  return undefined
}

/** Returns the first complaint of a library about a value. A check that throws, such as one that asks a database, has none. */
async function complaintOf(schema: Schemas[string], value: JsonValue): Promise<string | null | undefined> {
  try {
    const { issues } = await schema['~standard'].validate(structuredClone(value))
    // A list of issues is a failure, even an empty one.
    return issues === undefined ? undefined : (issues[0]?.message ?? 'is not valid')
  } catch {
    return null // Nothing is known about the value then.
  }
}

function leftOut(contract: ContractFile, what: string, example: JsonValue | undefined): GateFinding {
  const { event, version } = contract
  const finding = findingOf('notExported', {
    direction: null,
    at: { older: null, newer: '' },
    message: `${event} version ${version}: ${what}`,
    ...(example === undefined ? {} : { example }),
  })
  return { ...finding, event, file: contractPath(contract) }
}
