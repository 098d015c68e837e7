/**
 * Runs the example, and checks that every client has every message.
 *
 *     --real        on real services: Kafka in KAFKA_BOOTSTRAP, PostgreSQL in DATABASE_URL, Redis in REDIS_URL
 *     --clients N   connected clients; 40 by default
 *     --json        prints the result as one line
 */

import { parseArgs } from 'node:util'
import { describeThrown } from '@waybill/core'
import { openEmbedded, openReal } from './stage.ts'
import { type Ending, playStory } from './story.ts'

const {
  KAFKA_BOOTSTRAP = '127.0.0.1:9092',
  DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres',
  REDIS_URL = 'redis://127.0.0.1:6379',
} = process.env
const { values } = parseArgs({
  options: { real: { type: 'boolean' }, json: { type: 'boolean' }, clients: { type: 'string', default: '40' } },
})
const size = { clients: Math.max(4, Number(values.clients)), chats: 4, messages: 10 }

try {
  const ending = await (values.real === true ? onReal() : onEmbedded())
  if (values.json === true) say(JSON.stringify(ending))
  process.exitCode = ending.complete === ending.clients ? 0 : 1
} catch (error) {
  process.stderr.write(`The example failed: ${describeThrown(error)}\n`)
  process.exitCode = 1
}

async function onEmbedded(): Promise<Ending> {
  await using stage = await openEmbedded()
  return await playStory(stage, size, narrate)
}

async function onReal(): Promise<Ending> {
  await using stage = await openReal({ kafka: KAFKA_BOOTSTRAP, postgres: DATABASE_URL, redis: REDIS_URL })
  return await playStory(stage, size, narrate)
}

function narrate(text: string): void {
  if (values.json !== true) say(text)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
