import type { AddressInfo } from 'node:net'
import { createTextLogger, stopOnSignals } from '@waybill/core'
import { createRemoteJWKSet } from 'jose'
import { demoKeys } from './config/demo-tokens.ts'
import { createOrderApp, type OrderApp } from './config/order-app.ts'
import type { Resources } from './config/resources.ts'
import type { Settings } from './config/settings.ts'
import { walk } from './walk.ts'

/** How an instance is run from the command line. */
export interface ServeOptions {
  readonly settings: Settings
  readonly port: number
  /** Whether it walks through the life of an order first. */
  readonly isWalk: boolean
  /** Whether it ends after the walk. */
  readonly isOnce: boolean
  readonly say: (text: string) => void
}

const stopping = { deadlineMs: 20_000 }

/** Runs one instance until a signal stops it, and closes its resources. */
export async function serve<Tx>(
  resources: Resources<Tx>,
  { settings, port, isWalk, isOnce, say }: ServeOptions,
): Promise<void> {
  await using held = new AsyncDisposableStack()
  held.use(resources)
  // A walk causes the warnings that it tells of.
  const level = isWalk ? 'ERROR' : 'WARN'
  const logger = createTextLogger({ level, write: (line) => process.stderr.write(`${line}\n`) })
  const keys = settings.jwksUrl === undefined ? await demoKeys() : createRemoteJWKSet(new URL(settings.jwksUrl))
  const drill = { isFailing: false }
  const app = await createOrderApp(resources, {
    settings: isWalk ? { ...settings, failover: 'ON' } : settings,
    keys,
    logger,
    port,
    checks: isWalk ? { drill: () => answerUnless(drill.isFailing) } : {},
  })
  await app.start()
  const url = urlOf(app)
  try {
    if (isWalk)
      await walk({ app, url, resources, settings, drill: (isFailing) => void (drill.isFailing = isFailing), say })
  } catch (error) {
    await app.stop(stopping)
    throw error
  }
  say(`ready: ${url}, the API is described in ${url}/openapi.json, operators log in at ${url}/ops-login`)
  if (isWalk && isOnce) return await app.stop(stopping)
  const { isClean } = await stopOnSignals(app, { logger, exit: false }).stopped
  process.exitCode = isClean ? 0 : 1
}

/** Returns the address of an instance that listens. */
export function urlOf({ http }: OrderApp): string {
  const { address, family, port } = http.server.address() as AddressInfo
  const isAny = address === '0.0.0.0' || address === '::'
  return `http://${isAny ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address}:${port}`
}

async function answerUnless(isFailing: boolean): Promise<void> {
  if (isFailing) throw new Error('This is a drill.')
}
