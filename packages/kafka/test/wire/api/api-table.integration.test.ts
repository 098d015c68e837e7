import { Buffer } from 'node:buffer'
import { encodeBatch, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { apiTable } from '../../../src/wire/api/api-table.ts'
import { openBrokerSocket } from '../../../src/wire/broker/broker-socket.ts'
import { describeOnKafka, fetchOf, produce, record } from '../on-kafka.ts'

describeOnKafka('the versions of Apache Kafka', ({ node, named, send, createTopic, groupReady }) => {
  test('every version we speak gives the same answer', async () => {
    const { topic, topicId } = await createTopic('versions')
    const groupId = named('versions-group')
    await groupReady(groupId)
    await send('Produce', produce(topic, encodeBatch([record('old and new')])))
    const offset = { partitionIndex: 0, committedOffset: 1n, committedLeaderEpoch: -1, committedMetadata: 'm' }
    const nobody = { transactionalId: named('nobody'), producerId: 1n, producerEpoch: 0 }
    const outside = { generationId: -1, memberId: '', groupInstanceId: null }
    const topics = [{ name: topic, partitions: [offset] }]
    const questions: { readonly [A in KafkaApi]?: RequestOf<A> } = {
      Metadata: { topics: [topic, named('unknown')] },
      FindCoordinator: { kind: 'GROUP', key: groupId },
      LeaveGroup: { groupId, members: [{ memberId: 'nobody', groupInstanceId: null, reason: '' }] },
      OffsetCommit: { groupId, ...outside, topics },
      OffsetFetch: { groupId, topics: [{ name: topic, partitionIndexes: [0] }], requireStable: true },
      Fetch: fetchOf(topicId),
      ListOffsets: {
        isolationLevel: 'READ_COMMITTED',
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, currentLeaderEpoch: -1, timestamp: -1n }] }],
      },
      InitProducerId: { transactionalId: null, transactionTimeoutMs: 1_000, producerId: -1n, producerEpoch: -1 },
      AddOffsetsToTxn: { ...nobody, groupId },
      TxnOffsetCommit: { ...nobody, groupId, ...outside, topics },
      EndTxn: { ...nobody, committed: true },
      CreateTopics: {
        topics: [
          {
            name: named('imagined'),
            numPartitions: 1,
            replicationFactor: 1,
            configs: [{ name: 'retention.ms', value: '1' }],
          },
        ],
        timeoutMs: 5_000,
        validateOnly: true,
      },
      DeleteTopics: { topicNames: [named('unknown')], timeoutMs: 5_000 },
      CreatePartitions: { topics: [{ name: topic, count: 2 }], timeoutMs: 5_000, validateOnly: true },
      ListGroups: { states: ['NoSuchState'] },
      Produce: produce(topic, encodeBatch([record('again')])),
      JoinGroup: {
        groupId,
        sessionTimeoutMs: 6_000,
        rebalanceTimeoutMs: 6_000,
        memberId: 'stranger',
        groupInstanceId: null,
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.from('x') }],
        reason: '',
      },
    }
    const socket = await openBrokerSocket(node, {
      clientId: 'transport-test',
      tls: false,
      maxResponseBytes: 2 ** 24,
      signal: undefined,
    })
    const seen: string[] = []
    const ask = async <A extends KafkaApi>(api: A, version: number): Promise<ResponseOf<A>> => {
      const { key, write, read } = apiTable[api]
      const body = write(questions[api] as RequestOf<A>, version)
      const reader = await socket.request({ what: api, apiKey: key, apiVersion: version, isFlexible: true, body })
      reader.skipTags()
      const answer = read(reader, version)
      reader.skipTags() // Nothing may be left but tagged fields.
      seen.push(`${api} ${version}`)
      return answer
    }
    for (const api of Object.keys(questions) as (keyof typeof questions)[]) {
      const [newest, ...older] = apiTable[api].versions
      const wanted = comparable(await ask(api, newest as number))
      for (const version of older) {
        expect(comparable(await ask(api, version)), `${api} ${version}`).toEqual(wanted)
      }
    }
    socket.close()
    const severalVersions = Object.entries(apiTable).filter(([, { versions }]) => versions.length > 1)
    expect(seen).toEqual(
      expect.arrayContaining(
        severalVersions.flatMap(([api, { versions }]) => versions.map((version) => `${api} ${version}`)),
      ),
    )
  })
})

/** Without what differs from call to call: ids that are handed out, offsets that grow, and the broker's wording. */
function comparable(answer: unknown): unknown {
  const changing = new Set(['producerId', 'baseOffset', 'errorMessage'])
  return JSON.parse(
    JSON.stringify(answer, (key, value: unknown) =>
      changing.has(key) ? undefined : typeof value === 'bigint' ? String(value) : value,
    ),
  )
}
