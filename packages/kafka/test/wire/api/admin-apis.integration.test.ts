import { errorCode } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { until } from '../broker-at.ts'
import { describeOnKafka } from '../on-kafka.ts'

describeOnKafka('administering Apache Kafka', ({ named, send }) => {
  const create = (name: string, configs: Record<string, string> = {}, validateOnly = false) =>
    send('CreateTopics', {
      topics: [
        {
          name,
          numPartitions: 1,
          replicationFactor: 1,
          configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 10_000,
      validateOnly,
    }).then(({ topics }) => topics[0])

  test('topics: created, grown, described, altered and deleted', async () => {
    const name = named('administered')
    expect(await create(name, { 'retention.ms': 'soon' })).toMatchObject({
      name,
      errorCode: errorCode.INVALID_CONFIG,
    })
    expect(await create(name, {}, true)).toMatchObject({ errorCode: 0 })
    expect(await create(name, { 'retention.ms': '1000' })).toEqual({ name, errorCode: 0, errorMessage: null })
    const again = await create(name)
    expect(again).toMatchObject({ errorCode: errorCode.TOPIC_ALREADY_EXISTS })
    expect(again?.errorMessage).toContain('exists')
    await until(
      () => send('Metadata', { topics: [name] }),
      ({ topics }) => topics[0]?.errorCode === 0,
    )

    const grow = (count: number) =>
      send('CreatePartitions', { topics: [{ name, count }], timeoutMs: 10_000, validateOnly: false }).then(
        ({ topics }) => topics[0],
      )
    expect(await grow(3)).toMatchObject({ name, errorCode: 0 })
    expect(await grow(2)).toMatchObject({ name, errorCode: errorCode.INVALID_PARTITIONS })

    const config = async (wanted: string) => {
      const described = await send('DescribeConfigs', { topics: [name] })
      return described.topics[0]?.configs.find((one) => one.name === wanted)
    }
    expect(await config('retention.ms')).toEqual({ name: 'retention.ms', value: '1000', isDefault: false })
    expect(await config('cleanup.policy')).toEqual({ name: 'cleanup.policy', value: 'delete', isDefault: true })
    const unknown = await send('DescribeConfigs', { topics: [named('unknown')] })
    expect(unknown.topics).toMatchObject([
      { name: named('unknown'), errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION, configs: [] },
    ])

    const alter = (key: string, value: string | null) =>
      send('IncrementalAlterConfigs', { topics: [{ name, configs: [{ name: key, value }] }], validateOnly: false })
    expect((await alter('retention.ms', 'soon')).topics[0]?.errorCode).toBe(errorCode.INVALID_CONFIG)
    expect((await alter('cleanup.policy', 'compact')).topics[0]).toEqual({ name, errorCode: 0, errorMessage: null })
    expect((await alter('retention.ms', null)).topics[0]?.errorCode).toBe(0)
    await until(
      () => config('retention.ms'),
      (one) => one?.isDefault === true,
    )
    expect(await config('cleanup.policy')).toMatchObject({ value: 'compact', isDefault: false })

    const removed = await send('DeleteTopics', { topicNames: [name, named('unknown')], timeoutMs: 10_000 })
    expect(removed.topics).toContainEqual({ name, errorCode: 0, errorMessage: null })
    expect(removed.topics).toContainEqual(
      expect.objectContaining({ name: named('unknown'), errorCode: errorCode.UNKNOWN_TOPIC_OR_PARTITION }),
    )
  })
})
