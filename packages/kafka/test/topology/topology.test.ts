import { runOnSim } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import { requireAllDone } from '../../src/client/admin/admin-result.ts'
import { applyTopology } from '../../src/topology/apply-topology.ts'
import { defineTopology } from '../../src/topology/define-topology.ts'
import { drainStatus } from '../../src/topology/drain-status.ts'
import { planTopology } from '../../src/topology/plan-topology.ts'
import { readTopology } from '../../src/topology/read-topology.ts'
import { describeTopologyBehaviour } from './topology-behaviour.ts'

describe('a topology and a simulated cluster', () => {
  describeTopologyBehaviour((program) => runOnSim(program))
})

function topic(name: string, partitions: number, bytes: number) {
  const configs = {
    'cleanup.policy': 'delete',
    'retention.ms': 604_800_000,
    'retention.bytes': bytes,
    'min.insync.replicas': 2,
    'message.timestamp.type': 'CreateTime',
    'unclean.leader.election.enable': false,
  }
  return { name, partitions, replication: 3, configs }
}

describe('on three brokers', () => {
  const chat = defineTopology({
    topics: [
      topic('messages.persisted', 64, 107_374_182_400),
      topic('memberships.changed', 16, 10_737_418_240),
      topic('chats.created', 16, 10_737_418_240),
      {
        ...topic('dead_letters', 8, 53_687_091_200),
        role: 'DLT',
        configs: { ...topic('', 1, 53_687_091_200).configs, 'retention.ms': 2_592_000_000 },
      },
    ],
  })

  test('the topics of the chat are created with explicit configs, and compared with what lives', () =>
    runOnSim(
      async ({ admin }) => {
        const look = async () => planTopology(chat, await readTopology(admin, chat))
        await applyTopology(admin, await look())
        expect(await look()).toMatchObject({ steps: [], warnings: [{ topic: 'dead_letters' }] })
        const described = requireAllDone('', await admin.describeTopics(chat.topics.map(({ name }) => name)))
        expect(described.map(({ partitions, replication }) => [partitions.length, replication])).toEqual([
          [64, 3],
          [16, 3],
          [16, 3],
          [8, 3],
        ])
        requireAllDone('', await admin.alterConfigs({ 'chats.created': { 'min.insync.replicas': '1' } }))
        expect((await look()).steps).toEqual([
          { kind: 'CONFIG_CHANGE', topic: 'chats.created', config: 'min.insync.replicas', from: '1', to: '2' },
        ])
      },
      { brokers: 3 },
    ))

  test('a topic that cannot be seen is not taken for missing', () =>
    runOnSim(
      async ({ admin }, sim) => {
        using _ = sim.stall({ api: 'Metadata' })
        await expect(readTopology(admin, chat, { deadlineMs: 500 })).rejects.toMatchObject({
          code: 'WAYBILL_KAFKA_PARTIAL_FAILURE',
        })
      },
      { brokers: 3 },
    ))

  test('a topic that is another one at the second look is not drained', () =>
    runOnSim(async ({ admin, runtime }, sim) => {
      sim.createTopic('a')
      runtime.timers.schedule(2_000, () => {
        sim.deleteTopic('a')
        sim.createTopic('a')
      })
      expect(await drainStatus(admin, 'g', ['a'], { runtime })).toMatchObject({
        isDrained: false,
        partitions: [{ state: 'WRITTEN' }],
      })
    }))

  test('a creation whose response is lost is reported as unknown, and applying again settles it', () =>
    runOnSim(
      async ({ admin }, sim) => {
        const lost = sim.dropResponses({ api: 'CreateTopics' })
        const plan = planTopology(chat, await readTopology(admin, chat))
        await expect(applyTopology(admin, plan)).rejects.toMatchObject({
          failures: chat.topics.map(({ name }) => ({ subject: name, error: { kind: 'UNKNOWN' } })),
        })
        lost[Symbol.dispose]()
        await applyTopology(admin, planTopology(chat, await readTopology(admin, chat)))
        expect(planTopology(chat, await readTopology(admin, chat)).steps).toEqual([])
      },
      { brokers: 3 },
    ))
})
