import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { describeCluster, kinds, majorVersionOf, releaseOf, serverProperties } from '@waybill/services'
import { describe, expect, test } from 'vitest'

async function listen(server: Server): Promise<{ port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const metadataVersion = Buffer.from('metadata.version').toString('hex')

/** Encoded responses of a broker that supports metadata level 30, runs at 25, and knows brokers 1 and 2. */
const answers = Buffer.concat([
  frame(1, [
    '0000', // no error
    '02 0012 0000 0004 00', // one kind of request: ApiVersions 0 to 4
    '00000000', // no throttling
    '02', // two tags
    `00 17 02 11 ${metadataVersion} 0007 001e 00`, // supported: 7 to 30
    `02 17 02 11 ${metadataVersion} 0019 0019 00`, // in force: 25
  ]),
  frame(2, [
    '00000002', // two brokers
    '00000001 0001 61 00002384 ffff', // 1 is a:9092 in no rack
    '00000002 0001 62 00002385 0001 72', // 2 is b:9093 in rack r
    '00000002', // the controller
    '00000000', // no topics
  ]),
])

function frame(correlationId: number, body: readonly string[]): Buffer {
  const bytes = Buffer.from(body.join('').replaceAll(' ', ''), 'hex')
  const head = Buffer.alloc(8)
  head.writeInt32BE(4 + bytes.length, 0)
  head.writeInt32BE(correlationId, 4)
  return Buffer.concat([head, bytes])
}

describe('a Kafka cluster described over its protocol', () => {
  test.each([
    ['in one piece', answers.length],
    ['byte by byte', 1],
    ['in pieces across the frames', 7],
  ])('is read from answers that come %s', async (_, step) => {
    await using server = await listen(
      createTcpServer((socket) => {
        socket.setNoDelay(true)
        socket.once('data', () => {
          for (let at = 0; at < answers.length; at += step) socket.write(answers.subarray(at, at + step))
        })
      }),
    )
    expect(await describeCluster('127.0.0.1', server.port, 5_000)).toEqual({
      brokers: [
        { nodeId: 1, host: 'a', port: 9092 },
        { nodeId: 2, host: 'b', port: 9093 },
      ],
      controllerId: 2,
      release: '4.3',
    })
  })

  test('is no HTTP server', async () => {
    await using server = await listen(createServer((_, response) => response.end('hello')))
    await expect(describeCluster('127.0.0.1', server.port, 5_000)).rejects.toThrow(/Kafka protocol/)
  })

  test('is not there when the port accepts connections and says nothing', async () => {
    await using server = await listen(createTcpServer())
    await expect(describeCluster('127.0.0.1', server.port, 50)).rejects.toThrow(/No response .* within 50 ms/)
  })

  test('is not there when the connection is closed at once', async () => {
    await using server = await listen(createTcpServer((socket) => socket.end()))
    await expect(describeCluster('127.0.0.1', server.port, 5_000)).rejects.toThrow(
      /closed before a response|ECONNRESET/,
    )
  })

  test.each([
    ['kafka', /"kafka" is not a broker address/],
    ['127.0.0.1:1', /ECONNREFUSED/],
    ['127.0.0.1:1,127.0.0.1:2', /127.0.0.1:1; .*127.0.0.1:2/],
  ])('at the address %s is not reached, with the reason', async (bootstrap, reason) => {
    await expect(kinds.kafka.probe(bootstrap)).rejects.toThrow(reason)
  })

  test.each([
    [0, 'older than 3.3'],
    [7, '3.x'],
    [21, '3.x'],
    [25, '4.0'],
    [27, '4.1'],
    [29, '4.2'],
    [30, '4.3'],
    [31, 'newer than 4.3'],
  ])('of metadata level %i is of release %s', (level, release) => {
    expect(releaseOf(level)).toBe(release)
  })
})

describe('the configuration of a Kafka node', () => {
  const nodes = [1, 2, 3].map((id) => ({ id, port: 9090 + id, controllerPort: 9190 + id, folder: `/tmp/${id}` }))
  const settingsOf = (count: number, id: number): Map<string, string> => {
    const cluster = nodes.slice(0, count)
    const text = serverProperties(cluster[id - 1] as (typeof nodes)[0], cluster)
    return new Map(
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    )
  }

  test('lets no topic come into being by a misspelt name, and members be declared dead within a second', () => {
    const settings = settingsOf(1, 1)
    expect(settings.get('auto.create.topics.enable')).toBe('false')
    expect(settings.get('group.min.session.timeout.ms')).toBe('1000')
    expect(settings.get('group.initial.rebalance.delay.ms')).toBe('0')
  })

  test.each([
    [1, '1', '1'],
    [2, '2', '1'],
    [3, '3', '2'],
  ])('in a cluster of %i gives internal topics %s replicas, %s of them in sync', (count, replicas, inSync) => {
    const settings = settingsOf(count, 1)
    for (const topic of ['offsets.topic', 'transaction.state.log', 'share.coordinator.state.topic'])
      expect(settings.get(`${topic}.replication.factor`)).toBe(replicas)
    expect(settings.get('default.replication.factor')).toBe(replicas)
    expect(settings.get('transaction.state.log.min.isr')).toBe(inSync)
    expect(settings.get('min.insync.replicas')).toBe(inSync)
  })

  test('makes every node a controller, so that any one may die', () => {
    for (const id of [1, 2, 3]) {
      const settings = settingsOf(3, id)
      expect(settings.get('process.roles')).toBe('broker,controller')
      expect(settings.get('controller.quorum.voters')).toBe('1@127.0.0.1:9191,2@127.0.0.1:9192,3@127.0.0.1:9193')
      expect(settings.get('listeners')).toBe(`PLAINTEXT://127.0.0.1:${9090 + id},CONTROLLER://127.0.0.1:${9190 + id}`)
    }
  })
})

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['java version "1.8.0_402"', 8],
  ['openjdk version "21" 2023-09-19', 21],
  ['no Java at all', 0],
])('%s is Java %i', (text, version) => {
  expect(majorVersionOf(text)).toBe(version)
})
