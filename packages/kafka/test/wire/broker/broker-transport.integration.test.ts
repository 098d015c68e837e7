import { encodeBatch, TransportError } from '@waybill/kafka/wire'
import { expect, test } from 'vitest'
import { describeOnKafka, fetchOf, produce, record } from '../on-kafka.ts'

describeOnKafka('a connection to Apache Kafka', ({ send, connect, createTopic }) => {
  test('a fetch that waits for records when it is closed, at once and as UNKNOWN', async () => {
    const { topicId } = await createTopic('long-poll')
    const own = await connect()
    const waiting = own.send('Fetch', fetchOf(topicId, 0n, { maxWaitMs: 600_000 }))
    const behind = own.send('Metadata', { topics: [] })
    own.close()
    for (const one of [waiting, behind]) {
      const error: unknown = await one.catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(TransportError)
      expect(error).toMatchObject({ outcome: 'UNKNOWN' })
    }
    expect(await own.ended).toBeNull()
  })

  test('and answers come in the order of the requests, also behind one that waits', async () => {
    const { topic, topicId } = await createTopic('in-order')
    const own = await connect()
    const finished: string[] = []
    const note = (name: string) => () => finished.push(name)
    const waiting = own.send('Fetch', fetchOf(topicId, 0n, { maxWaitMs: 600_000 })).then(note('fetch'))
    const behind = own.send('Metadata', { topics: [] }).then(note('metadata'))
    await send('Produce', produce(topic, encodeBatch([record('wakes it up')])))
    await Promise.all([waiting, behind])
    expect(finished).toEqual(['fetch', 'metadata'])
    own.close()
  })
})
