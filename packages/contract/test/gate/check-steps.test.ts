import { contractsOf } from '@waybill/contract'
import { defineEvents, type StandardSchema, upcast } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { checkSteps } from '../../src/gate/check-steps.ts'

const released = z.object({ id: z.string(), text: z.string() })
const newest = z.object({ id: z.string(), body: z.string() })
const files = contractsOf(defineEvents({ E: { topic: 't', schema: released, key: () => null } }))

function findingsOf(older: StandardSchema<unknown, { id: string; text: string }>): string[] {
  const upcasters = { 1: upcast(older, newest, ({ id, text }) => ({ id, body: text })) }
  const catalog = defineEvents({ E: { topic: 't', version: 2, schema: newest, key: () => null, upcasters } })
  return checkSteps(catalog, files).map(({ code, severity, message, file }) => `${code} ${severity} ${file} ${message}`)
}

describe('the schemas that upcast steps start from', () => {
  test('accept what was released', () => {
    expect(findingsOf(released)).toEqual([])
    expect(findingsOf(z.object({ id: z.string(), text: z.string().default('') }))).toEqual([])
  })

  test('are reported if they refuse an event of their version, however rare', () => {
    expect(findingsOf(z.object({ id: z.string(), text: z.string().max(5_000) }))).toEqual([
      'WB-C208 WARNING E/v1.json step from version 1: maxLength of text: none -> 5000; new readers refuse old events',
    ])
  })

  test('are compared with all that a writer may have written, and point at the released file', () => {
    const open = contractsOf(
      defineEvents({ E: { topic: 't', schema: released, key: () => null } }, { undeclared: 'ALLOW' }),
    )
    const narrow = z.object({ id: z.string(), text: z.string(), note: z.string().optional() })
    const upcasters = { 1: upcast(narrow, newest, ({ id, text }) => ({ id, body: text })) }
    const catalog = defineEvents({ E: { topic: 't', version: 2, schema: newest, key: () => null, upcasters } })
    expect(checkSteps(catalog, files)).toEqual([])
    expect(checkSteps(catalog, open)).toMatchObject([{ code: 'WB-C103', at: { newer: null } }])
  })

  test('are not looked for where an event has no steps, or the version is the newest', () => {
    const catalog = defineEvents({ E: { topic: 't', schema: newest, key: () => null } })
    expect(checkSteps(catalog, files)).toEqual([])
    expect(checkSteps(defineEvents({ F: { topic: 't', schema: newest, key: () => null } }), files)).toEqual([])
  })
})
