import { compareSchemas } from '@waybill/contract'
import { defineEvents, encodeEvent, fromJsonSchema, SchemaViolationError } from '@waybill/core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import ajvFormats from 'ajv-formats'
import { ValueDrawer } from '../../src/sample/value-drawer.ts'
import type { JsonObject, JsonValue } from '../../src/schema/json.ts'
import { readSchema } from '../../src/schema/read-schema.ts'
import { judgeOf } from './judge.ts'
import { SchemaDrawer, seeded } from './random-schema.ts'

/** The results of a run. */
export interface WritersTally {
  compatible: number
  /** Events that encodeEvent wrote. */
  written: number
  /** Events that encodeEvent refused: with undeclared members, or of no use. */
  refused: number
  /** Written under a schema that was called compatible, and refused by its reader: must stay empty. */
  readonly letThrough: string[]
}

const ajv = new Ajv2020({ strict: false, logger: false, ownProperties: true, multipleOfPrecision: 9 })
ajvFormats.default(ajv)

/** Takes what `encodeEvent` writes as the events of a writer, for random pairs of schemas that are called compatible. */
export async function tryWriters(from: number, pairs: number, events: number): Promise<WritersTally> {
  const tally: WritersTally = { compatible: 0, written: 0, refused: 0, letThrough: [] }
  for (let seed = from; seed < from + pairs; seed += 1) {
    const chance = seeded(seed)
    const drawer = new SchemaDrawer(chance)
    const older = drawer.event()
    const newer = drawer.changed(older)
    await tryPair([older, newer], chance, events, tally)
    await tryPair([newer, older], chance, events, tally)
  }
  return tally
}

async function tryPair(
  [writer, reader]: readonly [JsonObject, JsonObject],
  chance: () => number,
  events: number,
  tally: WritersTally,
): Promise<void> {
  const found = compareSchemas(writer, reader, { mode: 'BACKWARD', format: 'ASSERTION', isSameVersion: false })
  if (found.some(({ code }) => !code.startsWith('WB-C3'))) return
  tally.compatible += 1
  const catalog = defineEvents({ E: { topic: 't', schema: fromJsonSchema(writer, ajv), key: () => null } })
  ajv.removeSchema()
  const [writes, reads] = [judgeOf(writer), judgeOf(reader)]
  const values = new ValueDrawer(chance, { stray: true })
  const [near, far] = [readSchema(writer).root, readSchema(reader).root]
  for (let tried = 0; tried < events; tried += 1) {
    const value = values.draw(tried % 2 === 0 ? [near, far] : [near])
    const payload = await writtenPayload(catalog, value)
    if (payload === undefined || !writes(payload)) tally.refused += 1
    else {
      tally.written += 1
      if (!reads(payload)) tally.letThrough.push(JSON.stringify({ writer, reader, payload }))
    }
  }
}

async function writtenPayload(
  catalog: Parameters<typeof encodeEvent>[0],
  value: JsonValue,
): Promise<JsonValue | undefined> {
  try {
    return JSON.parse((await encodeEvent(catalog, 'E', value)).payloadJson) as JsonValue
  } catch (error) {
    if (error instanceof SchemaViolationError) return undefined
    throw error
  }
}
