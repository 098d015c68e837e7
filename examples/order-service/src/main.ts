/**
 * The order service.
 *
 *     (no command)                       walks through the life of an order, then serves
 *     serve --port N [--real]            serves; prints one line when ready
 *     token --sub alice --role USER      prints a token that the demo instance accepts
 *
 *     --real   on real services: Kafka in KAFKA_BOOTSTRAP, DATABASE_URL (or mysql://…), REDIS_URL
 */

import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { createTextLogger, describeThrown, stopOnSignals } from '@waybill/core'
import { createRemoteJWKSet } from 'jose'
import { demoKeys, demoToken } from './config/demo-tokens.ts'
import { createOrderApp, type OrderApp } from './config/order-app.ts'
import { openEmbedded, openMysqlResources, openPostgresResources, type Resources } from './config/resources.ts'
import { readSettings } from './config/settings.ts'
import { walk } from './walk.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string', default: '3000' },
    real: { type: 'boolean', default: false },
    once: { type: 'boolean', default: false },
    sub: { type: 'string', default: 'alice' },
    role: { type: 'string', default: 'USER' },
  },
})
const settings = readSettings(process.env)

try {
  const [command = 'walk'] = positionals
  if (command === 'token') say(await demoToken({ subject: values.sub, role: values.role, ...settings }))
  else if (command === 'serve') await serve()
  else if (command === 'walk') await serve((app, url) => walk(app, url, settings, say))
  else
    throw new Error(
      `There is no command ${command}. The commands are serve and token; without one it walks and serves.`,
    )
} catch (error) {
  process.stderr.write(`The order service failed: ${describeThrown(error)}\n`)
  process.exitCode = 1
}

async function serve(before?: (app: OrderApp, url: string) => Promise<void>): Promise<void> {
  const { KAFKA_BOOTSTRAP = '127.0.0.1:9092', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env
  const { DATABASE_URL = 'postgres://postgres@127.0.0.1:5432/postgres' } = process.env
  const { ORDERS_SCHEMA, ORDERS_TOPIC } = process.env
  if (!values.real) return run(await openEmbedded(), before)
  const addresses = {
    kafka: KAFKA_BOOTSTRAP,
    database: DATABASE_URL,
    redis: REDIS_URL,
    ...(ORDERS_SCHEMA === undefined ? {} : { schema: ORDERS_SCHEMA }),
    ...(ORDERS_TOPIC === undefined ? {} : { topic: ORDERS_TOPIC }),
  }
  if (DATABASE_URL.startsWith('mysql:')) return run(await openMysqlResources(addresses), before)
  return run(await openPostgresResources(addresses), before)
}

async function run<Tx>(
  resources: Resources<Tx>,
  before: ((app: OrderApp, url: string) => Promise<void>) | undefined,
): Promise<void> {
  await using held = new AsyncDisposableStack()
  held.use(resources)
  const logger = createTextLogger({ level: 'WARN', write: (line) => process.stderr.write(`${line}\n`) })
  const keys = settings.jwksUrl === undefined ? await demoKeys() : createRemoteJWKSet(new URL(settings.jwksUrl))
  const app = await createOrderApp(resources, { settings, keys, logger, port: Number(values.port) })
  await app.start()
  const url = `http://127.0.0.1:${(app.http.server.address() as AddressInfo).port}`
  try {
    await before?.(app, url)
  } catch (error) {
    await app.stop({ deadlineMs: 20_000 })
    throw error
  }
  say(`ready: ${url}, the API is described in ${url}/openapi.json`)
  if (values.once) return await app.stop({ deadlineMs: 20_000 })
  const { isClean } = await stopOnSignals(app, { logger, exit: false }).stopped
  process.exitCode = isClean ? 0 : 1
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
