import { handleEvents } from '@waybill/connector'
import { type ContractFile, contractsOf } from '@waybill/contract'
import { type ContractConsumer, crossCheck } from '@waybill/contract/trial'
import { defineEvents, type EventCatalog, type Schemas, type StandardSchema, upcast } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { newContracts } from '../../src/trial/cross-check.ts'

const v1 = z.object({ id: z.string(), note: z.string().optional() })
const v2 = z.object({ id: z.string(), priority: z.enum(['normal', 'high', 'urgent']) })

function catalogOf(schema: StandardSchema, version: number): EventCatalog<Schemas> {
  return defineEvents({ OrderPlaced: { topic: 'orders', version, schema, key: () => null } })
}

function consumer(events: EventCatalog<Schemas>, handler?: (payload: never) => unknown): ContractConsumer {
  const handlers =
    handler === undefined ? {} : { OrderPlaced: ({ payload }: { payload: unknown }) => handler(payload as never) }
  return { name: 'billing', events, handlers }
}

function fileOf(events: EventCatalog<Schemas>): ContractFile {
  const [contract] = contractsOf(events)
  if (contract === undefined) throw new RangeError('no contract')
  return contract
}

const old = catalogOf(v1, 1)
const [released] = [fileOf(old)]

async function find(options: Partial<Parameters<typeof crossCheck>[0]>): Promise<string[]> {
  const { findings } = await crossCheck({ current: [released], against: [released], consumers: [], ...options })
  return findings.map(({ code, severity, direction, message }) => `${code} ${severity} ${direction} ${message}`)
}

function stepped(step: (older: z.infer<typeof v1>) => z.infer<typeof v2>): EventCatalog<Schemas> {
  const upcasters = { 1: upcast(v1, v2, step) }
  return defineEvents({ OrderPlaced: { topic: 'orders', version: 2, schema: v2, key: () => null, upcasters } })
}

describe('S2-060 consumers that are run with generated events', () => {
  test('are quiet about events that they accept', async () => {
    const called: unknown[] = []
    const same = consumer(old, (payload) => called.push(payload))
    const { findings, tried } = await crossCheck({
      current: [released],
      against: [released],
      consumers: [same],
      existing: [same],
      events: 10,
    })
    expect([findings, tried, called.length]).toEqual([[], 10, 10])
  })

  test('are reported if the decoder of the base refuses new events', async () => {
    const next = catalogOf(z.object({ note: z.string() }), 2)
    const [finding] = await find({
      current: [released, fileOf(next)],
      consumers: [consumer(next)],
      existing: [consumer(old)],
    })
    expect(finding).toMatch(
      /^WB-C501 BREAKING FORWARD billing of the base refuses (\d+) of \1 events of OrderPlaced version 2: .*id/,
    )
  })

  test('are reported if the handler of the base does not know a new value', async () => {
    const known = catalogOf(z.object({ priority: z.string() }), 1)
    const next = catalogOf(z.object({ priority: z.enum(['normal', 'urgent']) }), 2)
    const existing = consumer(known, ({ priority }: { priority: string }) => {
      if (priority !== 'normal') throw new Error(`no rule for ${priority}`)
    })
    const { findings } = await crossCheck({
      current: [fileOf(known), fileOf(next)],
      against: [fileOf(known)],
      consumers: [],
      existing: [existing],
    })
    expect(findings).toMatchObject([{ code: 'WB-C501', example: { priority: 'urgent' }, file: 'OrderPlaced/v2.json' }])
    expect(findings[0]?.message).toContain('no rule for urgent')
  })

  test('are not given events of contracts that did not change', async () => {
    const failing = consumer(old, () => Promise.reject(new Error('always')))
    expect(await find({ existing: [failing] })).toEqual([])
  })

  test('are reported if a new handler refuses old events, and only noted if it did so before', async () => {
    const careless = consumer(old, ({ note }: { note?: string }) => (note as string).trim())
    const careful = consumer(old, ({ note }: { note?: string }) => note?.trim())
    expect(await find({ consumers: [careless], existing: [careful] })).toEqual([
      expect.stringMatching(
        /^WB-C502 BREAKING BACKWARD billing refuses \d+ of 40 events of OrderPlaced version 1: TypeError/,
      ),
    ])
    expect(await find({ consumers: [careless], existing: [careless] })).toEqual([
      expect.stringMatching(/^WB-C502 INFO .*it did so in the base, too$/),
    ])
  })

  test('take old events through upcast steps, and report a step that fails', async () => {
    const total = stepped(({ id }) => ({ id, priority: 'normal' }))
    expect(await find({ consumers: [consumer(total)], existing: [consumer(old)] })).toEqual([])
    const partial = stepped(({ id, note }) => ({ id, priority: (note as string).trim() === '' ? 'normal' : 'high' }))
    expect(await find({ consumers: [consumer(partial)], existing: [consumer(old)] })).toEqual([
      expect.stringMatching(/^WB-C503 BREAKING BACKWARD .*upcast from version 1 to 2/),
    ])
  })

  test('are not given what its writer refuses, are given samples, and are reported as not tried without either', async () => {
    const picky = catalogOf(z.object({ iban: z.string().refine((text) => text.startsWith('DE89')) }), 1)
    const seen: unknown[] = []
    const options = {
      current: [fileOf(picky)],
      against: [fileOf(picky)],
      consumers: [consumer(picky, (payload) => seen.push(payload))],
      existing: [consumer(picky)],
    }
    expect(await find(options)).toEqual([
      'WB-C504 WARNING null OrderPlaced version 1 was not tried with consumers: no event could be generated',
    ])
    expect(await find({ ...options, samples: { OrderPlaced: [{ iban: 'DE8937' }] } })).toEqual([])
    expect(seen).toEqual([{ iban: 'DE8937' }])
  })

  test('are reported if they do not answer', async () => {
    const hanging = consumer(old, () => new Promise(() => {}))
    expect(await find({ consumers: [hanging], events: 1, handlerTimeoutMs: 5 })).toEqual([
      expect.stringContaining('it did not answer within 5 ms'),
    ])
  })

  test('may be made by handleEvents', async () => {
    const events = defineEvents({ OrderPlaced: { topic: 'orders', schema: v1, key: ({ id }) => id } })
    const seen: string[] = []
    const { handlers } = handleEvents(events, {
      OrderPlaced: ({ payload }, { attempt, logger }) => {
        logger.info({ attempt }, 'Order placed')
        seen.push(payload.id)
      },
    })
    const made = { name: 'made', events, handlers } as unknown as ContractConsumer
    expect(await find({ consumers: [made] })).toEqual([])
    expect(seen.length).toBe(40)
  })
})

function titled(version: number, title: string): ContractFile {
  return { event: 'OrderPlaced', version, topic: 'orders', vendor: 'zod', schema: { title } }
}

test('new events are those of the newest version, unless it was released as it is', () => {
  const [first, edited, next] = [titled(1, 'a'), titled(1, 'b'), titled(2, 'c')]
  expect(newContracts([edited, next], [first])).toEqual([next])
  expect(newContracts([edited], [first])).toEqual([edited])
  expect(newContracts([first, next], [first, next])).toEqual([])
})
