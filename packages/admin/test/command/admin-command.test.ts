import { Buffer } from 'node:buffer'
import { request } from 'node:http'
import { noopLogger, type Runtime, systemRuntime } from '@waybill/core'
import { createKafkaClient, type KafkaClient } from '@waybill/kafka'
import { createSimCluster, type SimCluster } from '@waybill/sim'
import { createSignal } from '@waybill/testkit'
import { describe, expect, test } from 'vitest'
import { type AdminCommandContext, runAdminCommand } from '../../src/command/admin-command.ts'

const runtime: Runtime = { ...systemRuntime, logger: noopLogger }
const tokens = 'eve 0123456789abcdef\n# comment\nana fedcba9876543210\n'

interface Served {
  readonly url: string
  readonly sim: SimCluster
  readonly written: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<{ status: number; body: any }>
}

/** Serves dead letters as other frameworks write them. */
async function served(words: string, program: (served: Served) => Promise<void>): Promise<void> {
  const sim = createSimCluster({ brokers: 1, runtime })
  const clientOf = (name: string): KafkaClient =>
    createKafkaClient({ brokers: sim.brokers, transport: sim.transport(name), clientId: name, runtime })
  await using writer = clientOf('writer')
  await writer.admin.createTopics(
    ['orders-dlt', 'mails.DLT', 'dead-letter-topic-pay', 'orders'].map((topic) => ({
      topic,
      partitions: 1,
      replication: 1,
    })),
  )
  await using producer = writer.producer('EVENT')
  const send = (topic: string, value: string, headers: Readonly<Record<string, string>>): Promise<unknown> =>
    producer.send({
      topic,
      key: Buffer.from('k'),
      value: Buffer.from(value),
      headers: Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)] as const),
    })
  await send('orders-dlt', 'spring', {
    'kafka_dlt-exception-fqcn': 'org.springframework.kafka.listener.ListenerExecutionFailedException',
    'kafka_dlt-exception-message': 'order 17 refused',
    'kafka_dlt-original-topic': 'orders',
  })
  await send('dead-letter-topic-pay', 'smallrye', {
    'dead-letter-reason': 'payment 18 refused',
    'dead-letter-topic': 'payments',
    'dead-letter-exception-class-name': 'java.lang.IllegalStateException',
  })
  await send('mails.DLT', 'connect', {
    '__connect.errors.topic': 'mails',
    '__connect.errors.exception.class.name': 'org.apache.kafka.connect.errors.DataException',
    '__connect.errors.exception.message': 'mail 19 refused',
  })
  const stopping = new AbortController()
  const printed = createSignal<string>('prints its address')
  const context: AdminCommandContext = {
    out: (text) => printed.send(text),
    err: (text) => printed.send(`error: ${text}`),
    readFile: (path) => {
      if (path === 'tokens') return tokens
      throw new Error(`${path} is not there`)
    },
    runtime,
    stop: stopping.signal,
    connect: () => clientOf('admin'),
  }
  const ended = runAdminCommand(`--brokers a:9092 --port 0 ${words}`.trim().split(' '), context)
  const written = await printed.wait()
  const url = /^http:\S+/.exec(written)?.[0] ?? ''
  try {
    await program({
      url,
      sim,
      written,
      async get(path, headers = {}) {
        const response = await fetch(`${url}${path}`, { headers })
        return { status: response.status, body: await response.json() }
      },
    })
  } finally {
    stopping.abort()
    await ended
  }
}

const letters = '/eventbus/dead-letters'

describe('waybill-admin', () => {
  test('shows the dead letters of Spring, SmallRye and Kafka Connect in groups, and one with its payload', () =>
    served('', async ({ get, written }) => {
      expect(written).toMatch(/^http:\/\/127\.0\.0\.1:\d+ {2}dead-letter-topic-pay, mails\.DLT, orders-dlt\n$/)
      const groups = await get(`${letters}/groups`)
      expect(groups.body).toMatchObject({ total: { count: '3' }, source: { mode: 'MEMORY', lagRecords: '0' } })
      const shown = groups.body.items.map((one: { exception: string; message: { text: string }; binding: null }) => [
        one.exception,
        one.message.text,
        one.binding,
      ])
      expect(shown.toSorted()).toEqual([
        ['java.lang.IllegalStateException', 'payment # refused', null],
        ['org.apache.kafka.connect.errors.DataException', 'mail # refused', null],
        ['org.springframework.kafka.listener.ListenerExecutionFailedException', 'order # refused', null],
      ])
      const spring = await get(`${letters}/orders-dlt:0:0`)
      expect(spring.body).toMatchObject({
        original: { topic: 'orders' },
        value: { text: 'spring' },
        actions: { replay: { allowed: false, because: 'It belongs to no binding of this server.' } },
      })
      expect((await get('/eventbus/topics?role=DLT')).body.items.map(({ topic }: { topic: string }) => topic)).toEqual([
        'orders-dlt',
        'mails.DLT',
        'dead-letter-topic-pay',
      ])
      expect((await get('/eventbus/topics?role=SOURCE')).body.items).toEqual([])
      expect((await get('/readyz')).status).toBe(200)
    }))

  test('reads the topics that it is told, follows them, and hides payloads', () =>
    served('--dlt orders-* --hide-payloads', async ({ get }) => {
      const { body } = await get(letters)
      expect(body.items).toMatchObject([{ id: 'orders-dlt:0:0', key: { hidden: true }, message: { hidden: true } }])
      expect((await get(`${letters}/mails.DLT:0:0`)).status).toBe(404)
      expect((await get(`${letters}/orders:0:0`)).status).toBe(404)
      expect((await get(`${letters}/orders-dlt:0:0/raw`)).status).toBe(403)
    }))

  test('changes nothing', () =>
    served('', async ({ url, get }) => {
      const { permissions } = (await get('/eventbus/me')).body
      const granted = Object.keys(permissions).filter((name) => permissions[name] !== false)
      expect(granted.filter((name) => !name.endsWith(':read'))).toEqual([])
      const change = (method: string, path: string, body: object): Promise<number> =>
        fetch(`${url}${path}`, {
          method,
          headers: { 'waybill-csrf': '1', 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }).then(({ status }) => status)
      for (const type of ['REPLAY', 'RELEASE', 'INDEX_REBUILD'])
        expect(
          await change('POST', '/eventbus/operations', { type, binding: 'orders', filter: {}, reason: 'x' }),
        ).toBeGreaterThanOrEqual(400)
      expect(await change('POST', `${letters}/orders-dlt:0:0/edit`, { value: 'x', reason: 'x' })).toBe(403)
      const [{ group }] = (await get(`${letters}/groups`)).body.items
      expect(await change('PATCH', `${letters}/groups/${group}`, { state: 'RESOLVED' })).toBe(403)
    }))

  test('answers this machine under its own names alone, or those that have a token', async () => {
    await served('', async ({ url }) => {
      const { port } = new URL(url)
      const status = await new Promise<number>((resolve, reject) => {
        const sent = request(
          { port, host: '127.0.0.1', path: letters, headers: { host: 'rebound.example' } },
          (answer) => {
            answer.resume()
            resolve(answer.statusCode ?? 0)
          },
        )
        sent.on('error', reject)
        sent.end()
      })
      expect(status).toBe(401)
    })
    await served('--tokens tokens --host 0.0.0.0', async ({ get, url }) => {
      expect(url).toContain('0.0.0.0')
      expect((await get(letters)).status).toBe(401)
      expect((await get(letters, { authorization: 'Bearer 0123456789abcdeX' })).status).toBe(401)
      expect((await get('/eventbus/me', { authorization: 'Bearer fedcba9876543210' })).body.by).toBe('ana')
    })
  })

  test.each([
    ['--host 0.0.0.0', 'without an identity'],
    ['--tokens missing', 'missing is not there'],
    ['--brkers a:1', 'There is no option --brkers'],
  ])('with %s does not start, and says why', (words, problem) =>
    served(words, async ({ written }) => {
      expect(written).toMatch(/^error: /)
      expect(written).toContain(problem)
    }),
  )

  test('says when no topic has one of the names', () =>
    served('--dlt none-*', async ({ written }) => {
      expect(written).toContain('no topic is named none-*')
    }))
})
