/** The steps of the example: messages, a repeat, a new member, an absent presence, a broken record, and a killed worker. */

import { noopLogger, runtimeWith } from '@waybill/core'
import { type KafkaClient, publishEvents, requireAllDone } from '@waybill/kafka'
import { Outbox } from '@waybill/outbox'
import { createOutboxStore, migrate } from '@waybill/sql'
import { eventually } from '@waybill/testkit'
import { ChatService } from './chat/chat-service.ts'
import { ChatClient } from './client.ts'
import { chatEvents } from './events.ts'
import { assessObjectives, type Objective } from './objectives.ts'
import type { Stage, StageWorker } from './stage.ts'

/** The size of a run. */
export interface Size {
  readonly clients: number
  readonly chats: number
  /** Messages of each chat in each of the steps that send. */
  readonly messages: number
}

/** The result of a run. */
export interface Ending extends Size {
  /** Messages that were accepted. */
  readonly accepted: number
  /** Clients that have every message of their chats, in order. */
  readonly complete: number
  readonly reconnects: number
  /** Times that a client missed a message and synced. */
  readonly gaps: number
  readonly skipped: number
  readonly deadLetters: readonly string[]
  /** Numbers of the run beside the objectives of the service. */
  readonly objectives: readonly Objective[]
}

const patient = { deadlineMs: 120_000, everyMs: 20 }

/** Runs the example. */
export async function playStory<Tx>(stage: Stage<Tx>, size: Size, say: (text: string) => void): Promise<Ending> {
  const { kafka, topics, store } = stage
  const events = chatEvents(topics)
  const runtime = runtimeWith({ logger: noopLogger })
  await store.createTables()
  await migrate(store.database, { tables: { inbox: false } })
  await using outbox = Outbox.keyed({
    events,
    database: store.database,
    store: createOutboxStore(store.database),
    listeners: publishEvents(kafka, events),
    intervalMs: 50,
    runtime,
  })
  await outbox.start()
  const service = new ChatService(store, outbox, runtime)

  const workers = new Map<string, StageWorker>()
  for (const name of ['worker-1', 'worker-2']) workers.set(name, await stage.startWorker(name))
  const addresses = (): string[] => [...workers.values()].map(({ url }) => url)
  const clients = Array.from({ length: size.clients }, (_, n) => new ChatClient(`user-${n + 1}`, addresses))
  const chatIds = Array.from({ length: size.chats }, (_, n) => `chat-${n + 1}`)
  const membersOf = (chat: number): string[] =>
    clients.filter((_, n) => n % size.chats === chat).map(({ userId }) => userId)

  let sent = 0
  let refused = 0
  const ackMs: number[] = []
  const sendAll = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const id = ++sent
      await Promise.all(
        chatIds.map(async (chatId, chat) => {
          const begun = performance.now()
          const message = {
            chatId,
            senderId: membersOf(chat)[n % membersOf(chat).length] ?? '',
            content: `message ${id}`,
            clientMessageId: `${chatId}-${id}`,
          }
          try {
            await service.send(message)
          } catch (error) {
            refused++
            throw error
          }
          ackMs.push(performance.now() - begun)
        }),
      )
    }
  }
  const isComplete = ({ userId, chats }: ChatClient): boolean =>
    [...chatsOf(userId)].every((chatId) => chats.get(chatId)?.length === sent)
  const chatsOf = (userId: string): Set<string> => memberships.get(userId) ?? new Set()
  const memberships = new Map<string, Set<string>>()
  const allComplete = (): Promise<void> =>
    eventually(() => {
      const behind = clients.filter((client) => !isComplete(client))
      if (behind.length > 0) throw new Error(`${behind.length} clients are behind`)
    }, patient)
  const counted = () => Promise.all([...workers.values()].map((worker) => worker.counts()))
  const skipped = async (): Promise<number> => (await counted()).reduce((sum, count) => sum + count.skipped, 0)

  try {
    say(`1  A chat on ${stage.called}`)
    for (const [chat, chatId] of chatIds.entries()) {
      await service.create(chatId, `Room ${chat + 1}`, 'user-1', membersOf(chat))
      for (const userId of membersOf(chat)) memberships.set(userId, new Set([chatId]))
    }
    clients.forEach((client, n) => client.connect(n))
    await Promise.all(clients.map((client) => client.ready))
    await sendAll(size.messages)
    await allComplete()
    say(`   ${size.clients} clients at 2 workers have ${sent} messages of each of ${size.chats} chats, in order.`)

    say('2  A client sends a message again')
    const again = { chatId: 'chat-1', senderId: 'user-1', content: 'message 1', clientMessageId: 'chat-1-1' }
    say(`   It is number ${(await service.send(again)).sequence} still, and nobody gets it twice.`)

    say('3  A user becomes a member of a second chat')
    await service.addMember('chat-2', 'user-1', 'user-2')
    memberships.get('user-1')?.add('chat-2')
    await allComplete()
    say(`   user-1 has the ${sent} messages of chat-2.`)

    say('4  The presence is away, and messages are sent')
    const bringBack = stage.takePresenceAway()
    await sendAll(1)
    await eventually(async () => {
      if ((await skipped()) < size.chats) throw new Error('not all are skipped yet')
    }, patient)
    const skippedThen = await skipped()
    bringBack()
    // Workers reach the presence again at their own time: a message that they skip is synced with the next one.
    await eventually(async () => {
      await sendAll(1)
      await eventually(
        () => {
          if (!clients.every(isComplete)) throw new Error('some are behind')
        },
        { deadlineMs: 2_000, everyMs: 20 },
      )
    }, patient)
    say(
      `   ${skippedThen >= size.chats ? 'Their delivery was skipped' : 'Some were delivered'}; the clients noticed with the next message, and synced.`,
    )

    say('5  A record that is no event')
    await kafka
      .producer('EVENT')
      .send({ topic: topics.messages, key: Buffer.from('chat-1'), value: Buffer.from('{"event_id":') })
    await sendAll(1)
    await allComplete()
    const deadLetters = await reasonsOf(kafka, topics.deadLetters)
    say(
      `   It is a dead letter (${deadLetters.map((reason) => reason.split(':')[0]).join(', ')}), and the chat continues.`,
    )

    say('6  A worker is killed while messages are sent')
    const before = await counted()
    const total = (pick: (count: (typeof before)[number]) => number): number =>
      before.reduce((sum, count) => sum + pick(count), 0)
    const sending = sendAll(size.messages)
    await workers.get('worker-1')?.kill()
    workers.delete('worker-1')
    await sending
    await allComplete()
    const moved = clients.filter(({ reconnects }) => reconnects > 0).length
    say(`   ${moved} clients connected to worker-2, and every client has every message of its chats, in order.`)

    say('7  The retention deletes the events of all chats')
    await deleteAll(kafka, topics.messages)
    const late = new ChatClient('user-2', addresses)
    clients.push(late)
    memberships.set('user-2', new Set(['chat-2']))
    late.connect(0)
    await late.ready
    await allComplete()
    clients.pop()?.close()
    say(`   A client that connects now has every message of its chat: they come from the database.`)
    const expected = clients.reduce((sum, { userId }) => sum + chatsOf(userId).size * sent, 0)
    const received = clients.reduce((sum, { chats }) => sum + [...chats.values()].flat().length, 0)
    return {
      ...size,
      accepted: sent * size.chats,
      complete: clients.filter(isComplete).length,
      reconnects: moved,
      gaps: clients.reduce((sum, client) => sum + client.gaps, 0),
      skipped: total((count) => count.skipped),
      deadLetters,
      objectives: assessObjectives({
        accepted: expected,
        missing: expected - received,
        requests: sent * size.chats + refused,
        refused,
        ackMs,
        deliveryMs: before.flatMap(({ deliverySeconds }) => deliverySeconds.map((seconds) => seconds * 1_000)),
        // A record that is no event is none to process.
        consumed: total((count) => count.consumed - count.deadLetters),
        processed: total((count) => count.processed),
      }),
    }
  } finally {
    for (const client of clients) client.close()
    for (const worker of workers.values()) await worker.stop()
  }
}

/** Deletes the records of a topic, as its retention does one day. */
async function deleteAll({ admin }: KafkaClient, topic: string): Promise<void> {
  const [described] = requireAllDone('Describing the topic', await admin.describeTopics([topic]))
  const all = (described?.partitions ?? []).map((_, partition) => ({ topic, partition, before: 'END' as const }))
  requireAllDone('Deleting records', await admin.deleteRecords(all))
}

/** Returns the reasons of the dead letters, from their envelopes. */
async function reasonsOf(kafka: KafkaClient, topic: string): Promise<readonly string[]> {
  const consumer = kafka.consumer({ groupId: `${topic}.reader`, topics: [topic] })
  await consumer.start()
  try {
    for (;;) {
      const records = await consumer.poll(10, 1_000)
      if (records.length === 0) continue
      return records.map(({ value }) => JSON.parse(String(value)).dlq_metadata.failure_reason as string)
    }
  } finally {
    await consumer.stop()
  }
}
