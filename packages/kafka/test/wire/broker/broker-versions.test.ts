import type { KafkaApi } from '@waybill/kafka/wire'
import { describe, expect, test } from 'vitest'
import { apiTable } from '../../../src/wire/api/api-table.ts'
import { chooseVersions } from '../../../src/wire/broker/broker-versions.ts'

const apis = Object.keys(apiTable) as KafkaApi[]
const offer = (range: (api: KafkaApi) => readonly [number, number] | null) =>
  new Map(
    apis.flatMap((api) => {
      const offered = range(api)
      return offered === null ? [] : [[apiTable[api].key, { min: offered[0], max: offered[1] }] as const]
    }),
  )

describe('version negotiation', () => {
  test('takes the highest version that both sides have', () => {
    expect(chooseVersions(offer(() => [0, 99])).get('Fetch')).toBe(17)
    expect(chooseVersions(offer(() => [0, 15])).get('Fetch')).toBe(15)
    expect(chooseVersions(offer(() => [13, 13])).get('Fetch')).toBe(13)
  })

  test('leaves out what the broker does not have, and what it has only in versions we do not speak', () => {
    expect([...chooseVersions(new Map())]).toEqual([])
    expect(chooseVersions(offer((api) => (api === 'Produce' ? [12, 13] : [0, 99]))).has('Produce')).toBe(false)
    expect(chooseVersions(offer((api) => (api === 'Fetch' ? [0, 12] : [0, 99]))).has('Fetch')).toBe(false)
  })

  test('speaks every request with brokers 3.1 and 4.3', () => {
    // The ranges of Apache Kafka 3.1.0, by the name of the request.
    const older: Partial<Record<KafkaApi, number>> = {
      Produce: 9,
      Fetch: 13,
      ListOffsets: 7,
      Metadata: 12,
      OffsetCommit: 8,
      OffsetFetch: 8,
      FindCoordinator: 4,
      JoinGroup: 7,
      Heartbeat: 4,
      LeaveGroup: 4,
      SyncGroup: 5,
      DescribeGroups: 5,
      ListGroups: 4,
      CreateTopics: 7,
      DeleteTopics: 6,
      DeleteRecords: 2,
      InitProducerId: 4,
      AddPartitionsToTxn: 3,
      AddOffsetsToTxn: 3,
      EndTxn: 3,
      TxnOffsetCommit: 3,
      DescribeConfigs: 4,
      CreatePartitions: 3,
      DeleteGroups: 2,
      IncrementalAlterConfigs: 1,
    }
    expect(Object.keys(older).toSorted()).toEqual(apis.toSorted())
    expect(Object.fromEntries(chooseVersions(offer((api) => [0, older[api] ?? -1])))).toEqual(older)
    expect(chooseVersions(offer(() => [0, 99])).size).toBe(apis.length)
  })

  test('adds partitions to a transaction with version 3 only, which a cluster with ACLs takes from a client', () => {
    expect(apiTable.AddPartitionsToTxn.versions).toEqual([3])
  })

  test('lists versions from the highest down', () => {
    for (const api of apis) expect(apiTable[api].versions).toEqual(apiTable[api].versions.toSorted((a, b) => b - a))
  })
})
