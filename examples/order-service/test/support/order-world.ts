import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noopLogger } from '@waybill/core'
import { demoKeys, demoToken } from '../../src/config/demo-tokens.ts'
import { createOrderApp, type OrderApp, type OrderAppOptions } from '../../src/config/order-app.ts'
import type { Resources } from '../../src/config/resources.ts'
import { readSettings, type Settings } from '../../src/config/settings.ts'
import { urlOf } from '../../src/serve.ts'

/** An answer of the service. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  // oxlint-disable-next-line typescript/no-explicit-any -- The tests look at whatever came.
  readonly body: any
}

/** A caller of the service. */
export type Client = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

/** A running instance, and callers of it. */
export interface OrderWorld extends AsyncDisposable {
  readonly app: OrderApp
  readonly url: string
  readonly settings: Settings
  readonly keyFile: string
  as(subject: string, role?: string): Promise<Client>
  /** Sends a request with this token, or without one. */
  withToken(token: string | undefined): Client
  /** Returns the sum of a metric, as the page of metrics shows it. */
  metric(line: string): Promise<number>
}

export const cart = { items: [{ sku: 'A-1', quantity: 2, unitPriceMinor: 1_250 }], currency: 'EUR' }

/** The differences from an ordinary instance. */
export interface WorldOptions extends Partial<Pick<OrderAppOptions, 'keys' | 'clock' | 'checks'>> {
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts an instance on open resources, which it closes in the end. */
export async function startOrders<Tx>(
  resources: Resources<Tx>,
  { environment = {}, ...options }: WorldOptions = {},
): Promise<OrderWorld> {
  const settings = readSettings(environment)
  const folder = await mkdtemp(join(tmpdir(), 'waybill-order-keys-'))
  const keyFile = join(folder, 'key.json')
  const keys = await demoKeys(keyFile)
  const app = await createOrderApp(resources, { settings, keys, logger: noopLogger, port: 0, ...options })
  await app.start()
  const url = urlOf(app)
  const withToken =
    (token: string | undefined): Client =>
    async (method, path, body, headers = {}) => {
      const sent = typeof body === 'string' ? body : JSON.stringify(body)
      const answer = await fetch(url + path, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: sent }),
      })
      const text = await answer.text()
      const isJson = text !== '' && (answer.headers.get('content-type')?.includes('json') ?? false)
      return { status: answer.status, headers: answer.headers, body: isJson ? JSON.parse(text) : text }
    }
  return {
    app,
    url,
    settings,
    keyFile,
    withToken,
    as: async (subject, role = 'USER') => withToken(await demoToken({ subject, role, ...settings }, keyFile)),
    metric: async (line) => {
      const page: string = (await withToken(undefined)('GET', '/metrics')).body
      const lines = page.split('\n').filter((one) => one.startsWith(line))
      return lines.reduce((sum, one) => sum + Number(one.split(' ').at(-1)), 0)
    },
    async [Symbol.asyncDispose]() {
      await app.stop({ deadlineMs: 20_000 })
      await resources[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}
