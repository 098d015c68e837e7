import assert from 'node:assert/strict'
import { describeThrown } from '@waybill/core'
import {
  type CoordinatorKind,
  errorName,
  type KafkaConnection,
  type NodeAddress,
  TransportError,
  type TransportOutcome,
} from '@waybill/kafka/wire'
import { onlyOne } from '@waybill/testkit/internal'
import type { KafkaSuite } from '../kafka-harness.ts'
import { type Fetched, type FetchOptions, fetchRequest, produce, readFetched, textBatch } from './log-requests.ts'
import { nodeAddress } from './node-address.ts'
import type { MadeTopic, WireClient } from './wire-client.ts'

/** Tests of a connection: how it sends requests, and how it fails them when it closes. */
export function connectionPart(suite: KafkaSuite<WireClient>): void {
  suite.describe('a connection', () => connectionTests(suite))
  suite.describe('the wrong node', () => wrongNodeTests(suite))
}

/** An address where no cluster listens. */
const deadPort = 9

function connectionTests({ test }: KafkaSuite<WireClient>): void {
  test('answers requests in their order, also those that were sent together', async (wire) => {
    const topic = await wire.createTopic('in-order')
    const connection = await wire.toLeader(topic)
    const order: string[] = []
    const note = (what: string) => () => void order.push(what)
    const request = {
      transactionalId: null,
      timeoutMs: 5_000,
      topics: [{ name: topic.name, partitions: [{ partitionIndex: 0, records: [textBatch(wire, ['x'])] }] }],
    }
    await Promise.all([
      connection.send('Produce', request).then(note('produce')),
      connection.send('Metadata', { topics: [] }).then(note('metadata')),
      connection.send('Fetch', fetchRequest(topic, 0n)).then(note('fetch')),
      connection.send('ListGroups', { states: [] }).then(note('list')),
    ])
    assert.deepEqual(order, ['produce', 'metadata', 'fetch', 'list'])
  })

  test('holds what is sent behind a fetch that waits, and no other connection does', async (wire) => {
    const topic = await wire.createTopic('held')
    const own = await wire.another().toLeader(topic)
    const order: string[] = []
    const note = (what: string) => () => void order.push(what)
    const waiting = own.send('Fetch', fetchRequest(topic, 0n, { maxWaitMs: 600_000 })).then(note('fetch'))
    const behind = own.send('Metadata', { topics: [] }).then(note('behind'))
    await (await wire.toLeader(topic)).send('Metadata', { topics: [] }).then(note('beside'))
    await produce(wire, topic, ['x'])
    await Promise.all([waiting, behind])
    assert.deepEqual(order, ['beside', 'fetch', 'behind'])
  })

  test('that is closed leaves the outcome of what was sent unknown, and takes no more', async (wire) => {
    const topic = await wire.createTopic('closed')
    const own = await wire.another().toLeader(topic)
    const waiting = own.send('Fetch', fetchRequest(topic, 0n, { maxWaitMs: 600_000 }))
    const behind = own.send('Metadata', { topics: [] })
    own.close()
    assert.deepEqual([await outcomeOf(waiting), await outcomeOf(behind)], ['UNKNOWN', 'UNKNOWN'])
    assert.equal(await own.ended, null)
    assert.equal(await outcomeOf(own.send('Metadata', { topics: [] })), 'NOT_SENT')
    own.close()
  })

  test('to a place where nobody listens is refused, and nothing was sent', async (wire) => {
    const { host } = nodeAddress(wire.cluster.brokers[0] ?? '')
    const connecting = wire.cluster.transport.connect({ host, port: deadPort }, 'conformance')
    assert.equal(await outcomeOf(connecting), 'NOT_SENT')
  })

  test('is not made any more when it is called off', async (wire) => {
    const calledOff = new AbortController()
    const node = nodeAddress(wire.cluster.brokers[0] ?? '')
    const connecting = wire.cluster.transport.connect(node, 'conformance', calledOff.signal)
    calledOff.abort()
    assert.equal(await outcomeOf(connecting), 'NOT_SENT')
    assert.equal(await outcomeOf(wire.cluster.transport.connect(node, 'conformance', calledOff.signal)), 'NOT_SENT')
  })
}

function wrongNodeTests({ testWith }: KafkaSuite<WireClient>): void {
  testWith('SEVERAL_BROKERS', 'takes no records where another leads, and tells or deletes none', async (wire) => {
    const topic = await wire.createTopic('led-elsewhere', { replication: 2 })
    const { follower } = await nodesOf(wire, topic)
    const { name } = topic
    const partitions = [{ partitionIndex: 0, records: [textBatch(wire, ['x'])] }]
    const asked = [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -1n }]
    const answers = [
      await follower.send('Produce', { transactionalId: null, timeoutMs: 5_000, topics: [{ name, partitions }] }),
      await follower.send('ListOffsets', { isolationLevel: 'READ_COMMITTED', topics: [{ name, partitions: asked }] }),
      await follower.send('DeleteRecords', {
        topics: [{ name, partitions: [{ partitionIndex: 0, offset: 0n }] }],
        timeoutMs: 5_000,
      }),
    ]
    for (const { topics } of answers)
      assert.equal(errorName(topics[0]?.partitions[0]?.errorCode ?? 0), 'NOT_LEADER_OR_FOLLOWER')
  })

  testWith('SEVERAL_BROKERS', 'gives the records it has a copy of, and no others', async (wire) => {
    const topic = await wire.createTopic('copied', { replication: 2 })
    const { follower, stranger, leaderEpoch } = await nodesOf(wire, topic)
    await produce(wire, topic, ['a'])
    const fetchAt = async (node: KafkaConnection, options: FetchOptions = {}): Promise<Fetched> => {
      const { topics } = await node.send('Fetch', fetchRequest(topic, 0n, options))
      return readFetched(onlyOne(topics[0]?.partitions))
    }
    await wire.until(
      () => fetchAt(follower),
      ({ texts }) => texts.join() === '0:a',
    )
    const { error } = await fetchAt(follower, { currentLeaderEpoch: leaderEpoch + 1 })
    assert.equal(error, 'UNKNOWN_LEADER_EPOCH')
    assert.equal((await fetchAt(stranger)).error, 'NOT_LEADER_OR_FOLLOWER')
  })

  testWith('SEVERAL_BROKERS', 'coordinates no group and no transactional id of others', async (wire) => {
    const key = wire.named('coordinated-elsewhere')
    const elsewhere = async (kind: CoordinatorKind): Promise<KafkaConnection> => {
      const coordinator = await wire.until(
        () => wire.send('FindCoordinator', { kind, key }),
        ({ errorCode }) => errorCode === 0,
      )
      const { brokers } = await wire.send('Metadata', { topics: [] })
      return wire.to(brokers.find(({ nodeId }) => nodeId !== coordinator.nodeId) as NodeAddress)
    }
    const beat = { groupId: key, generationId: 1, memberId: 'm', groupInstanceId: null }
    const beaten = await (await elsewhere('GROUP')).send('Heartbeat', beat)
    assert.equal(errorName(beaten.errorCode), 'NOT_COORDINATOR')
    const init = { transactionalId: key, transactionTimeoutMs: 60_000, producerId: -1n, producerEpoch: -1 }
    const initialised = await (await elsewhere('TRANSACTION')).send('InitProducerId', init)
    assert.equal(errorName(initialised.errorCode), 'NOT_COORDINATOR')
  })
}

/** Returns a node with a replica of partition 0 that does not lead it, and one without a replica. */
async function nodesOf(
  wire: WireClient,
  { name }: MadeTopic,
): Promise<{ follower: KafkaConnection; stranger: KafkaConnection; leaderEpoch: number }> {
  const { brokers, topics } = await wire.send('Metadata', { topics: [name] })
  const { leaderId, leaderEpoch, replicaNodes } = onlyOne(topics[0]?.partitions)
  const connect = (isWanted: (nodeId: number) => boolean): Promise<KafkaConnection> =>
    wire.to(brokers.find(({ nodeId }) => isWanted(nodeId)) as NodeAddress)
  return {
    follower: await connect((node) => node !== leaderId && replicaNodes.includes(node)),
    stranger: await connect((node) => !replicaNodes.includes(node)),
    leaderEpoch,
  }
}

async function outcomeOf(sent: Promise<unknown>): Promise<TransportOutcome | 'ANSWERED'> {
  try {
    await sent
    return 'ANSWERED'
  } catch (error) {
    assert.ok(error instanceof TransportError, `${describeThrown(error)} is no TransportError`)
    return error.outcome
  }
}
