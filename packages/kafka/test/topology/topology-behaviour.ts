import type { AdminWorld, RunInAdminWorld } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Admin } from '../../src/client/admin/admin.ts'
import { requireAllDone } from '../../src/client/admin/admin-result.ts'
import { applyTopology, TopologyRefusedError } from '../../src/topology/apply-topology.ts'
import { defineTopology } from '../../src/topology/define-topology.ts'
import { deriveDeadLetterTopic, deriveTier, deriveWaiting } from '../../src/topology/derive-topic.ts'
import { drainStatus } from '../../src/topology/drain-status.ts'
import { planTopology, type TopologyPlan } from '../../src/topology/plan-topology.ts'
import { readTopology } from '../../src/topology/read-topology.ts'
import type { TopicDeclaration, Topology } from '../../src/topology/topology.ts'

/** Behavior of plan, apply and the drain check on any cluster. */
export function describeTopologyBehaviour(run: RunInAdminWorld): void {
  describe('plan and apply', () => {
    test('create a source with all that is derived from it, after which there is nothing to do', () =>
      run(async ({ admin, named }) => {
        const source = { name: named('orders'), partitions: 12 }
        const topology = dev([
          source,
          deriveTier(source, 1, 60_000),
          deriveDeadLetterTopic(source),
          deriveWaiting(source, 'billing'),
        ])
        const plan = await look(admin, topology)
        expect(plan.steps.map(({ kind }) => kind)).toEqual(Array(4).fill('CREATE'))
        const names = topology.topics.map(({ name }) => name)
        expect(await applyTopology(admin, plan)).toEqual({ created: names, existed: [], changed: [], left: [] })
        expect(await look(admin, topology)).toEqual({ steps: [], warnings: [] })
        const counts = requireAllDone('', await admin.describeTopics(names)).map(({ partitions }) => partitions.length)
        expect(counts).toEqual([12, 8, 8, 12])
      }))

    test('applied twice does no more than once, also with an old plan', () =>
      run(async ({ admin, named }) => {
        const topology = dev([{ name: named('orders'), partitions: 2 }])
        const plan = await look(admin, topology)
        await applyTopology(admin, plan)
        expect(await applyTopology(admin, plan)).toMatchObject({ created: [], existed: [named('orders')] })
        expect(await applyTopology(admin, await look(admin, topology))).toEqual({
          created: [],
          existed: [],
          changed: [],
          left: [],
        })
      }))

    test('change configs only when asked to, and only those declared', () =>
      run(async (world) => {
        const { admin, named } = world
        const name = named('orders')
        const configs = { 'retention.ms': '1000000', 'segment.ms': '2000000' }
        requireAllDone('', await admin.createTopics([{ topic: name, partitions: 2, replication: 1, configs }]))
        const topology = dev([{ name, partitions: 2, configs: { 'retention.ms': 3_000_000 } }])
        const plan = await look(admin, topology)
        expect(plan.steps).toMatchObject([{ kind: 'CONFIG_CHANGE', from: '1000000', to: '3000000' }])
        expect(plan.warnings).toMatchObject([{ topic: name, problem: expect.stringContaining('segment.ms=2000000') }])
        expect(await applyTopology(admin, plan)).toMatchObject({ changed: [], left: plan.steps })
        expect(await look(admin, topology)).toEqual(plan)
        expect(await applyTopology(admin, plan, { alterConfigs: true })).toMatchObject({ changed: [name], left: [] })
        expect(await lookUntilDone(world, topology)).toMatchObject({ steps: [] })
      }))

    test('with a partition count that differs nothing is changed at all', () =>
      run(async ({ admin, named }) => {
        const [name, other] = [named('orders'), named('other')]
        requireAllDone('', await admin.createTopics([{ topic: name, partitions: 2, replication: 1 }]))
        const topology = dev([
          { name, partitions: 4 },
          { name: other, partitions: 1 },
        ])
        const refusal = await applyTopology(admin, await look(admin, topology), { alterConfigs: true }).catch(
          (error: unknown) => error,
        )
        expect(refusal).toBeInstanceOf(TopologyRefusedError)
        expect(refusal).toMatchObject({ code: 'WAYBILL_TOPOLOGY_REFUSED', impact: 'Nothing was changed.' })
        expect(String(refusal)).toContain(`! ${name}: 2 partitions, declared 4`)
        const topics = await admin.listTopics()
        expect([topics.includes(name), topics.includes(other)]).toEqual([true, false])
      }))

    test('an unsafe setting on the cluster is refused, or fixed on request', () =>
      run(async (world) => {
        const { admin, named } = world
        const name = named('orders.retry-1')
        const configs = { 'retention.ms': '60000' }
        requireAllDone('', await admin.createTopics([{ topic: name, partitions: 1, replication: 1, configs }]))
        const topology = dev([{ name, role: 'TIER', partitions: 1, delayMs: 30_000 }])
        const plan = await look(admin, topology)
        await expect(applyTopology(admin, plan)).rejects.toThrow(/Apply it with alterConfigs: true\.$/)
        expect(await applyTopology(admin, plan, { alterConfigs: true })).toMatchObject({ changed: [name] })
        expect(await lookUntilDone(world, topology)).toMatchObject({ steps: [] })
      }))

    test('what is declared unsafe is refused, whatever may be altered', () =>
      run(async ({ admin, named }) => {
        const [name, other] = [named('orders.retry-1'), named('other')]
        const topology = dev([
          { name, role: 'TIER', partitions: 1, delayMs: 30_000, configs: { 'retention.ms': 60_000 } },
          { name: other, partitions: 1 },
        ])
        await expect(applyTopology(admin, await look(admin, topology), { alterConfigs: true })).rejects.toMatchObject({
          code: 'WAYBILL_TOPOLOGY_REFUSED',
          steps: [{ kind: 'CONFIG_UNSAFE', topic: name, config: 'retention.ms' }],
          hint: 'Fix the declaration or the cluster, and plan again.',
        })
        const topics = await admin.listTopics()
        expect([topics.includes(name), topics.includes(other)]).toEqual([false, false])
      }))

    test('what the cluster refuses is named, and the rest is done', () =>
      run(async ({ admin, named }) => {
        const [good, bad] = [named('good'), named('bad')]
        const topology = dev([
          { name: bad, partitions: 1, configs: { 'no.such.setting': 1 } },
          { name: good, partitions: 1 },
        ])
        await expect(applyTopology(admin, await look(admin, topology))).rejects.toMatchObject({
          code: 'WAYBILL_KAFKA_PARTIAL_FAILURE',
          failures: [{ subject: bad, error: { reason: 'INVALID_CONFIG' } }],
        })
        expect(await admin.listTopics()).toContain(good)
      }))
  })

  describe('the drain check', () => {
    const looked = { lookAgainAfterMs: 50 }

    test('finds a group behind, then drained', () =>
      run(async ({ admin, named, write, runtime }) => {
        const [topic, groupId] = [named('orders'), named('billing')]
        requireAllDone('', await admin.createTopics([{ topic, partitions: 3, replication: 1 }]))
        await write(topic, 0, [1, 2, 3])
        await write(topic, 1, [1])
        const commit = async (partition: number, offset: bigint): Promise<void> =>
          void requireAllDone('', await admin.alterGroupOffsets(groupId, [{ topic, partition, offset }]))
        await commit(0, 2n)
        const status = () => drainStatus(admin, groupId, [topic], { ...looked, runtime })
        expect(await status()).toEqual({
          isDrained: false,
          partitions: [
            { topic, partition: 0, state: 'BEHIND', committed: 2n, end: 3n },
            { topic, partition: 1, state: 'BEHIND', committed: null, end: 1n },
            { topic, partition: 2, state: 'DRAINED', committed: null, end: 0n },
          ],
        })
        await commit(0, 3n)
        expect((await status()).isDrained).toBe(false)
        await commit(1, 1n)
        expect((await status()).isDrained).toBe(true)
      }))

    test('is not fooled by a topic that is still written, though the group keeps up', () =>
      run(async ({ admin, named, write }) => {
        const [topic, groupId] = [named('orders'), named('billing')]
        requireAllDone('', await admin.createTopics([{ topic, partitions: 1, replication: 1 }]))
        const commit = async (offset: bigint): Promise<void> =>
          void requireAllDone('', await admin.alterGroupOffsets(groupId, [{ topic, partition: 0, offset }]))
        await write(topic, 0, [1])
        await commit(1n)
        const writeMeanwhile = async (): Promise<void> => {
          await write(topic, 0, [2])
          await commit(2n)
        }
        const timers = { sleep: writeMeanwhile, schedule: () => ({ [Symbol.dispose]() {} }) }
        expect(await drainStatus(admin, groupId, [topic], { runtime: { timers } })).toEqual({
          isDrained: false,
          partitions: [{ topic, partition: 0, state: 'WRITTEN', committed: 2n, end: 2n }],
        })
      }))

    test('says nothing of a topic that it cannot see, or of none', () =>
      run(async ({ admin, named, runtime }) => {
        await expect(drainStatus(admin, 'g', [named('gone')], { ...looked, runtime })).rejects.toMatchObject({
          code: 'WAYBILL_KAFKA_PARTIAL_FAILURE',
        })
        await expect(drainStatus(admin, 'g', [], { runtime })).rejects.toMatchObject({
          code: 'WAYBILL_ARGUMENT_INVALID',
        })
      }))
  })
}

function dev(topics: readonly TopicDeclaration[]): Topology {
  return defineTopology({ environment: 'DEV', topics })
}

async function look(admin: Admin, topology: Topology): Promise<TopologyPlan> {
  return planTopology(topology, await readTopology(admin, topology))
}

/** A broker takes a moment to see configs that its controller has acknowledged. */
async function lookUntilDone({ admin, runtime }: AdminWorld, topology: Topology): Promise<TopologyPlan> {
  for (let attempt = 1; ; attempt++) {
    const plan = await look(admin, topology)
    if (plan.steps.length === 0 || attempt === 100) return plan
    await runtime.timers.sleep(20)
  }
}
