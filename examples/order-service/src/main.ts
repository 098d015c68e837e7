/**
 * The order service.
 *
 *     (no command)                       walks through the life of an order, then serves
 *     serve --port N [--real]            serves; prints one line when ready
 *     token --sub alice --role USER      prints a token that the demo instance accepts
 *     --fleet 2x2 --real                 serves two regions with two instances each, from --port on
 *
 *     --real   on real services: Kafka in KAFKA_BOOTSTRAP, DATABASE_URL (or mysql://…), REDIS_URL
 *     --once   ends after the walk
 */

import { parseArgs } from 'node:util'
import { describeThrown } from '@waybill/core'
import { demoToken } from './config/demo-tokens.ts'
import { openEmbedded, openMysqlResources, openPostgresResources } from './config/resources.ts'
import { readAddresses, readSettings } from './config/settings.ts'
import { runFleet } from './fleet.ts'
import { serve } from './serve.ts'

try {
  await main()
} catch (error) {
  process.stderr.write(`The order service failed: ${describeThrown(error)}\n`)
  process.exitCode = 1
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      port: { type: 'string', default: '3000' },
      real: { type: 'boolean', default: false },
      once: { type: 'boolean', default: false },
      fleet: { type: 'string' },
      sub: { type: 'string', default: 'alice' },
      role: { type: 'string', default: 'USER' },
    },
  })
  const [command = 'walk'] = positionals
  const settings = readSettings(process.env)
  if (command === 'token') return say(await demoToken({ subject: values.sub, role: values.role, ...settings }))
  if (command !== 'walk' && command !== 'serve')
    throw new Error(
      `There is no command ${command}. The commands are serve and token; without one it walks and serves.`,
    )
  const port = portOf(values.port)
  if (values.fleet !== undefined) {
    if (!values.real) throw new Error('A fleet needs --real: its instances share Kafka, the database and Redis.')
    return runFleet({ size: values.fleet, firstPort: port, say })
  }
  const how = { settings, port, isWalk: command === 'walk', isOnce: values.once, say }
  const addresses = readAddresses(process.env)
  if (!values.real) await serve(await openEmbedded(), how)
  else if (addresses.database.startsWith('mysql:')) await serve(await openMysqlResources(addresses), how)
  else await serve(await openPostgresResources(addresses), how)
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new Error(`--port takes a number from 0 to 65535, got "${text}".`)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
