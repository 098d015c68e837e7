/** Tests the creation and verification of derived topics, on any cluster. */

import { createMemoryLogger } from '@waybill/core'
import { type Admin, requireAllDone } from '@waybill/kafka'
import type { RunInAdminWorld } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { DerivedTopicsMode } from '../../src/api/connector.ts'
import { ensureDerivedTopics } from '../../src/topics/derived-topics.ts'
import { resolved } from '../options/test-binding.ts'

export const keyed = { orderingMode: 'KEY', parallelism: 'KEY' } as const satisfies Partial<Binding>

/** Makes sure of the topics of bindings, and answers what was warned about. */
export async function ensure(
  admin: Admin,
  mode: DerivedTopicsMode,
  ...bindings: readonly Partial<Binding>[]
): Promise<string[]> {
  const logger = createMemoryLogger()
  const all = bindings.map((binding, at) => resolved(binding, `binding-${at}`))
  await ensureDerivedTopics(admin, all, mode, { logger })
  return logger.lines.map(({ text }) => text)
}

export async function createSource(admin: Admin, topic: string, partitions: number, configs = {}): Promise<void> {
  requireAllDone('', await admin.createTopics([{ topic, partitions, replication: 1, configs }]))
}

/** Partitions of the topics whose names begin so; the rest of each name alone. */
export async function partitionsUnder(admin: Admin, prefix: string): Promise<Record<string, number>> {
  const names = (await admin.listTopics()).filter((name) => name.startsWith(`${prefix}.`)).toSorted()
  const described = requireAllDone('', await admin.describeTopics(names))
  return Object.fromEntries(
    described.map(({ topic, partitions }) => [topic.slice(prefix.length + 1), partitions.length]),
  )
}

export function describeDerivedTopics(run: RunInAdminWorld): void {
  describe('CREATE', () => {
    test('creates tiers and dead letter topic, kept for ever and with room for more headers, once', () =>
      run(async ({ admin, named }) => {
        const topic = named('orders')
        await createSource(admin, topic, 12, { 'max.message.bytes': '10000' })
        expect(await ensure(admin, 'CREATE', { topic })).toEqual([])
        expect(await partitionsUnder(admin, topic)).toEqual({ DLT: 8, 'retry-1': 8, 'retry-2': 8, 'retry-3': 8 })
        const [one] = requireAllDone('', await admin.describeConfigs([`${topic}.retry-2`]))
        expect(one?.configs.get('retention.ms')?.value).toBe('-1')
        expect(one?.configs.get('max.message.bytes')?.value).toBe('75536')
        expect(await ensure(admin, 'CREATE', { topic })).toEqual([])
        expect(await ensure(admin, 'VERIFY', { topic })).toEqual([])
      }))

    test('creates a waiting topic beside each partition of the source with orderingMode KEY', () =>
      run(async ({ admin, named }) => {
        const topic = named('orders')
        await createSource(admin, topic, 12)
        await ensure(admin, 'CREATE', { ...keyed, topic })
        expect(await partitionsUnder(admin, topic)).toEqual({ DLT: 8, 'billing.waiting': 12 })
      }))

    test('grows the waiting topic of a source that has got more partitions, also when several ask at once', () =>
      run(async ({ admin, named }) => {
        const topic = named('orders')
        await createSource(admin, topic, 2)
        await ensure(admin, 'CREATE', { ...keyed, topic })
        requireAllDone('', await admin.createPartitions({ [topic]: 5 }))
        const all = [1, 2, 3].map(() => ensure(admin, 'CREATE', { ...keyed, topic }))
        expect(await Promise.all(all)).toEqual([[], [], []])
        expect(await partitionsUnder(admin, topic)).toEqual({ DLT: 2, 'billing.waiting': 5 })
      }))

    test('never creates a source, and names each one that is missing', () =>
      run(async ({ admin, named }) => {
        const [one, two] = [named('one'), named('two')]
        await expect(ensure(admin, 'CREATE', { topic: one }, { topic: two })).rejects.toMatchObject({
          code: 'WAYBILL_SOURCE_TOPIC_MISSING',
          message: expect.stringContaining(`${one} (binding binding-0), ${two} (binding binding-1)`),
          missing: [
            { binding: 'binding-0', topic: one },
            { binding: 'binding-1', topic: two },
          ],
        })
        expect(await partitionsUnder(admin, one)).toEqual({})
      }))
  })

  describe('VERIFY', () => {
    test('creates nothing and fails with the plan', () =>
      run(async ({ admin, named }) => {
        const topic = named('orders')
        await createSource(admin, topic, 2)
        const failure = await ensure(admin, 'VERIFY', { topic, retry: { tiers: [{ delayMs: 5 }] } }).catch(
          (error: unknown) => error,
        )
        expect(failure).toMatchObject({
          code: 'WAYBILL_DERIVED_TOPICS_INVALID',
          steps: [{ kind: 'CREATE' }, { kind: 'CREATE' }],
        })
        expect(String(failure)).toContain(`+ ${topic}.retry-1: TIER, 2 partitions, replication 1`)
        expect(String(failure)).toContain(`+ ${topic}.DLT: DLT, 2 partitions, replication 1`)
        expect(await partitionsUnder(admin, topic)).toEqual({})
      }))
  })
}
