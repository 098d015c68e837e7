import assert from 'node:assert/strict'
import { decodeSubscription, errorName, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import { onlyOne } from '@waybill/testkit/internal'
import type { KafkaSuite } from '../kafka-harness.ts'
import { commitAs, committedOffset, enterGroup, outsider } from './group-requests.ts'
import { produce } from './log-requests.ts'
import type { WireClient } from './wire-client.ts'

/** Tests of admin requests: topics, their settings, and groups. */
export function adminPart(suite: KafkaSuite<WireClient>): void {
  suite.describe('Metadata', () => metadataTests(suite))
  suite.describe('CreateTopics and DeleteTopics', () => topicTests(suite))
  suite.describe('CreatePartitions', () => partitionTests(suite))
  suite.describe('DescribeConfigs and IncrementalAlterConfigs', () => configTests(suite))
  suite.describe('groups', () => groupTests(suite))
}

function metadataTests({ test }: KafkaSuite<WireClient>): void {
  test('knows nodes, topics and their leaders, and answers for each topic alone', async (wire) => {
    const topic = await wire.createTopic('known', { partitions: 3 })
    const unknown = wire.named('unknown')
    const answer = await wire.send('Metadata', { topics: [topic.name, unknown] })
    assert.ok(
      wire.cluster.brokers.every((broker) => answer.brokers.some(({ host, port }) => broker === `${host}:${port}`)),
    )
    const known = answer.topics.find(({ name }) => name === topic.name)
    assert.deepEqual([known?.errorCode, known?.topicId, known?.isInternal], [0, topic.id, false])
    const partitions = known?.partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex) ?? []
    assert.deepEqual(
      partitions.map(({ errorCode, partitionIndex }) => [errorCode, partitionIndex]),
      [
        [0, 0],
        [0, 1],
        [0, 2],
      ],
    )
    for (const { leaderId, leaderEpoch, replicaNodes, isrNodes } of partitions) {
      assert.ok(answer.brokers.some(({ nodeId }) => nodeId === leaderId))
      assert.ok(leaderEpoch >= 0 && replicaNodes.includes(leaderId) && isrNodes.includes(leaderId))
    }
    const missing = answer.topics.find(({ name }) => name === unknown)
    assert.equal(errorName(missing?.errorCode ?? 0), 'UNKNOWN_TOPIC_OR_PARTITION')
    assert.deepEqual(missing?.partitions, [])
  })

  test('of no topics names the nodes, of all topics every topic', async (wire) => {
    const { name } = await wire.createTopic('listed')
    const none = await wire.send('Metadata', { topics: [] })
    assert.deepEqual(none.topics, [])
    assert.ok(none.brokers.length > 0)
    assert.ok((await wire.send('Metadata', { topics: null })).topics.some((topic) => topic.name === name))
  })

  test('does not know a topic whose name cannot be one', async (wire) => {
    const { topics } = await wire.send('Metadata', { topics: ['not a name'] })
    assert.equal(errorName(onlyOne(topics).errorCode), 'INVALID_TOPIC_EXCEPTION')
  })
}

type NewTopic = RequestOf<'CreateTopics'>['topics'][number]

function newTopic(name: string, change: Partial<NewTopic> = {}): NewTopic {
  return { name, numPartitions: 1, replicationFactor: 1, configs: [], ...change }
}

function topicTests({ test }: KafkaSuite<WireClient>): void {
  test('answer for each topic alone', async (wire) => {
    const { name: existing } = await wire.createTopic('existing')
    const topics = [
      newTopic(existing),
      newTopic('not a name'),
      newTopic(wire.named('partitions'), { numPartitions: 0 }),
      newTopic(wire.named('replicas'), { replicationFactor: 99 }),
      newTopic(wire.named('value'), { configs: [{ name: 'retention.ms', value: 'soon' }] }),
      newTopic(wire.named('setting'), { configs: [{ name: 'no.such.setting', value: '1' }] }),
      newTopic(wire.named('good')),
    ]
    assert.deepEqual(await create(wire, topics), [
      'TOPIC_ALREADY_EXISTS',
      'INVALID_TOPIC_EXCEPTION',
      'INVALID_PARTITIONS',
      'INVALID_REPLICATION_FACTOR',
      'INVALID_CONFIG',
      'INVALID_CONFIG',
      'NONE',
    ])
    await wire.topicReady(wire.named('good'), 1)
  })

  test('only check where they are told to', async (wire) => {
    const name = wire.named('imagined')
    assert.deepEqual(await create(wire, [newTopic(name)], true), ['NONE'])
    const { topics } = await wire.send('Metadata', { topics: [name] })
    assert.equal(errorName(onlyOne(topics).errorCode), 'UNKNOWN_TOPIC_OR_PARTITION')
  })

  test('refuse a name that differs from another by dots and underscores alone', async (wire) => {
    const { name } = await wire.createTopic('dot.ted')
    assert.deepEqual(await create(wire, [newTopic(name.replace('dot.ted', 'dot_ted'))]), ['INVALID_TOPIC_EXCEPTION'])
  })

  test('delete what exists and say what does not', async (wire) => {
    const topic = await wire.createTopic('deleted')
    const unknown = wire.named('never')
    const answer = await wire.send('DeleteTopics', { topicNames: [topic.name, unknown], timeoutMs: 5_000 })
    const errors = answer.topics.map(({ name, errorCode }) => `${name} ${errorName(errorCode)}`)
    assert.deepEqual(errors.toSorted(), [`${topic.name} NONE`, `${unknown} UNKNOWN_TOPIC_OR_PARTITION`].toSorted())
    await wire.until(
      () => produce(wire, topic, ['late']),
      ({ error }) => error === 'UNKNOWN_TOPIC_OR_PARTITION',
    )
  })
}

function partitionTests({ test }: KafkaSuite<WireClient>): void {
  test('adds partitions and never takes one away', async (wire) => {
    const { name } = await wire.createTopic('grown', { partitions: 2 })
    const grow = async (topic: string, count: number, validateOnly = false): Promise<string> => {
      const request = { topics: [{ name: topic, count }], timeoutMs: 5_000, validateOnly }
      return errorName(onlyOne((await wire.send('CreatePartitions', request)).topics).errorCode)
    }
    assert.equal(await grow(name, 3, true), 'NONE')
    assert.equal(await grow(name, 2), 'INVALID_PARTITIONS')
    assert.equal(await grow(name, 1), 'INVALID_PARTITIONS')
    assert.equal(await grow(wire.named('unknown'), 3), 'UNKNOWN_TOPIC_OR_PARTITION')
    assert.equal(await grow(name, 3), 'NONE')
    await wire.topicReady(name, 3)
  })
}

function configTests({ test }: KafkaSuite<WireClient>): void {
  test('tell overrides from defaults, and change one setting at a time', async (wire) => {
    const { name } = await wire.createTopic('settings', { configs: { 'retention.ms': '1000' } })
    const alter = async (setting: string, value: string | null, validateOnly = false): Promise<string> => {
      const topics = [{ name, configs: [{ name: setting, value }] }]
      return errorName(onlyOne((await wire.send('IncrementalAlterConfigs', { topics, validateOnly })).topics).errorCode)
    }
    assert.equal(await describeConfig(wire, name, 'retention.ms'), '1000')
    assert.equal(await describeConfig(wire, name, 'cleanup.policy'), 'delete by default')
    assert.equal(await alter('cleanup.policy', 'vanish'), 'INVALID_CONFIG')
    assert.equal(await alter('no.such.setting', '1'), 'INVALID_CONFIG')
    assert.equal(await alter('cleanup.policy', 'compact', true), 'NONE')
    assert.equal(await alter('max.message.bytes', '2000'), 'NONE')
    await wire.until(
      () => describeConfig(wire, name, 'max.message.bytes'),
      (value) => value === '2000',
    )
    assert.equal(await describeConfig(wire, name, 'cleanup.policy'), 'delete by default', 'that was only checked')
    assert.equal(await describeConfig(wire, name, 'retention.ms'), '1000', 'others stay')
    assert.equal(await alter('retention.ms', null), 'NONE')
    await wire.until(
      () => describeConfig(wire, name, 'retention.ms'),
      (value) => value === '604800000 by default',
    )
    await wire.until(
      () => produce(wire, { name }, ['x'.repeat(3_000)]),
      ({ error }) => error === 'MESSAGE_TOO_LARGE',
    )
  })

  test('do not know a topic that does not exist', async (wire) => {
    const name = wire.named('unknown')
    assert.equal(await describeConfig(wire, name, 'retention.ms'), 'UNKNOWN_TOPIC_OR_PARTITION')
    const topics = [{ name, configs: [{ name: 'retention.ms', value: '1' }] }]
    const answer = await wire.send('IncrementalAlterConfigs', { topics, validateOnly: false })
    assert.equal(errorName(onlyOne(answer.topics).errorCode), 'UNKNOWN_TOPIC_OR_PARTITION')
  })
}

function groupTests({ test }: KafkaSuite<WireClient>): void {
  test('are listed with their state by the node that coordinates them', async (wire) => {
    const member = await enterGroup(wire, 'listed')
    assert.deepEqual(await listed(wire, member.groupId), ['Stable consumer classic'])
    assert.deepEqual(await listed(wire, member.groupId, ['Empty']), [])
    assert.deepEqual(await listed(wire, member.groupId, ['Stable']), ['Stable consumer classic'])
    await member.leave()
    assert.deepEqual(await listed(wire, member.groupId, ['Empty']), ['Empty consumer classic'])
  })

  test('are described with their members, and as dead when nobody knows them', async (wire) => {
    const member = await enterGroup(wire, 'described', { instanceId: 'place' })
    const { errorCode, groupState, protocolType, protocolData, members } = await described(wire, member.groupId)
    assert.deepEqual([errorCode, groupState, protocolType, protocolData], [0, 'Stable', 'consumer', 'range'])
    const { memberId, groupInstanceId, clientId, memberMetadata, memberAssignment } = onlyOne(members)
    assert.deepEqual(
      [memberId, groupInstanceId, clientId, decodeSubscription(memberMetadata).topics, String(memberAssignment)],
      [member.memberId, 'place', 'conformance', ['wanted'], 'all'],
    )
    await member.join()
    assert.equal((await described(wire, member.groupId)).groupState, 'CompletingRebalance')
    const unknown = await described(wire, wire.named('nobody'))
    assert.deepEqual([unknown.groupState, unknown.members], ['Dead', []])
  })

  test('with members cannot be deleted; without, their offsets go with them', async (wire) => {
    const { name } = await wire.createTopic('group-deleted')
    const member = await enterGroup(wire, 'group-deleted')
    const { groupId } = member
    await member.commit(name, 5n)
    assert.equal(await deleted(wire, groupId), 'NON_EMPTY_GROUP')
    await member.leave()
    assert.equal(await committedOffset(wire, groupId, name), 5n)
    assert.equal(await deleted(wire, groupId), 'NONE')
    assert.equal(await committedOffset(wire, groupId, name), -1n)
    assert.equal(await deleted(wire, groupId), 'GROUP_ID_NOT_FOUND')
  })

  test('that only ever had offsets are empty, and listed', async (wire) => {
    const { name } = await wire.createTopic('offsets-only')
    const groupId = wire.named('offsets-only')
    await commitAs(wire, { groupId, ...outsider }, name, 5n)
    assert.deepEqual(await listed(wire, groupId), ['Empty  classic'])
    assert.equal((await described(wire, groupId)).groupState, 'Empty')
    assert.equal(await deleted(wire, groupId), 'NONE')
  })
}

async function create(wire: WireClient, topics: readonly NewTopic[], validateOnly = false): Promise<string[]> {
  const answer = await wire.send('CreateTopics', { topics, timeoutMs: 5_000, validateOnly })
  return topics.map(({ name }) => errorName(answer.topics.find((topic) => topic.name === name)?.errorCode ?? -1))
}

async function describeConfig(wire: WireClient, topic: string, setting: string): Promise<string> {
  const answer = onlyOne((await wire.send('DescribeConfigs', { topics: [topic] })).topics)
  if (answer.errorCode !== 0) return errorName(answer.errorCode)
  const found = answer.configs.find(({ name }) => name === setting)
  return `${found?.value}${found?.isDefault ? ' by default' : ''}`
}

async function listed(wire: WireClient, groupId: string, states: readonly string[] = []): Promise<string[]> {
  const nodes = (await wire.send('Metadata', { topics: [] })).brokers
  const lists = await Promise.all(nodes.map(async (node) => (await wire.to(node)).send('ListGroups', { states })))
  return lists
    .flatMap(({ groups }) => groups.filter((group) => group.groupId === groupId))
    .map(({ groupState, protocolType, groupType }) => `${groupState} ${protocolType} ${groupType}`)
}

async function described(wire: WireClient, groupId: string): Promise<ResponseOf<'DescribeGroups'>['groups'][number]> {
  return onlyOne((await wire.send('DescribeGroups', { groups: [groupId] })).groups)
}

async function deleted(wire: WireClient, groupId: string): Promise<string> {
  return errorName(onlyOne((await wire.send('DeleteGroups', { groups: [groupId] })).groups).errorCode)
}
