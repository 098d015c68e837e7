/**
 * The two requests that show whether a Kafka broker can be used, written by hand: its features, and the brokers that
 * the cluster counts as alive. An open port shows neither: a broker accepts connections long before it serves.
 */

import { connect, type Socket } from 'node:net'
import { ServiceError } from '../service.ts'
import { WireReader } from './wire-reader.ts'

/** One broker, at its advertised address. */
export interface BrokerAddress {
  readonly nodeId: number
  readonly host: string
  readonly port: number
}

/** A broker's description of its cluster. */
export interface ClusterDescription {
  readonly brokers: readonly BrokerAddress[]
  readonly controllerId: number
  /** The release line the broker's software belongs to, such as `4.3`. */
  readonly release: string
}

const apiVersionsKey = 18
const metadataKey = 3
const largestResponseBytes = 16 * 2 ** 20

/** Asks one broker about its cluster. Throws when it does not respond as Kafka does. */
export async function describeCluster(host: string, port: number, timeoutMs: number): Promise<ClusterDescription> {
  const socket = connect({ host, port, timeout: timeoutMs, noDelay: true })
  try {
    socket.write(Buffer.concat([apiVersionsRequest(1), metadataRequest(2)]))
    const responses = await readResponses(socket, 2)
    const release = readRelease(responses[0] as WireReader)
    return { release, ...readBrokers(responses[1] as WireReader) }
  } finally {
    socket.destroy()
  }
}

function apiVersionsRequest(correlationId: number): Buffer {
  const name = compactText('waybill-services')
  const version = compactText('1')
  const noTags = Buffer.from([0])
  // Version 3, the first that reports the broker's features.
  return request(apiVersionsKey, 3, correlationId, Buffer.concat([noTags, name, version, noTags]))
}

function metadataRequest(correlationId: number): Buffer {
  // Version 1 with an empty list: the brokers, and no topics.
  return request(metadataKey, 1, correlationId, Buffer.alloc(4))
}

function request(apiKey: number, apiVersion: number, correlationId: number, rest: Buffer): Buffer {
  const clientId = Buffer.from('waybill-services')
  const head = Buffer.alloc(14)
  head.writeInt32BE(10 + clientId.length + rest.length, 0)
  head.writeInt16BE(apiKey, 4)
  head.writeInt16BE(apiVersion, 6)
  head.writeInt32BE(correlationId, 8)
  head.writeInt16BE(clientId.length, 12)
  return Buffer.concat([head, clientId, rest])
}

function compactText(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length + 1]), Buffer.from(text)])
}

/** Reads the bodies of the first `count` responses; a broker answers one connection's requests in their order. */
function readResponses(socket: Socket, count: number): Promise<WireReader[]> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0)
    const bodies: WireReader[] = []
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 4) {
        const size = received.readInt32BE(0)
        if (size < 4 || size > largestResponseBytes) {
          reject(new ServiceError('The service on this port does not speak the Kafka protocol.'))
          return
        }
        if (received.length < 4 + size) return
        bodies.push(new WireReader(received.subarray(8, 4 + size))) // After the size and the correlation id.
        received = received.subarray(4 + size)
        if (bodies.length === count) resolve(bodies)
      }
    })
    socket.once('timeout', () =>
      reject(new ServiceError(`No response in the Kafka protocol within ${socket.timeout} ms.`)),
    )
    socket.once('close', () =>
      reject(new ServiceError('The connection was closed before a response in the Kafka protocol.')),
    )
    socket.once('error', reject)
  })
}

function readBrokers(body: WireReader): Pick<ClusterDescription, 'brokers' | 'controllerId'> {
  const brokers = body.list(() => {
    const broker = { nodeId: body.int32(), host: body.text() ?? '', port: body.int32() }
    body.text() // Its rack.
    return broker
  })
  return { brokers, controllerId: body.int32() }
}

function readRelease(body: WireReader): string {
  if (body.int16() !== 0) return 'older than 2.4'
  body.compactList(() => {
    body.skip(6) // Key, lowest and highest version of one request.
    body.skipTags()
  })
  body.skip(4) // Throttle time.
  let level = 0
  body.tags((tag, value) => {
    if (tag !== 0) return // Others, such as the finalized features.
    value.compactList(() => {
      const feature = value.compactText()
      value.skip(2) // Its minimum level.
      const highest = value.int16()
      value.skipTags()
      if (feature === 'metadata.version') level = highest
    })
  })
  return releaseOf(level)
}

/** The first metadata level of each release line, as `kafka-features version-mapping` prints the last one of each. */
const firstLevels: readonly (readonly [level: number, release: string])[] = [
  [31, 'newer than 4.3'],
  [30, '4.3'],
  [28, '4.2'],
  [26, '4.1'],
  [22, '4.0'],
  [1, '3.x'],
]

/** Returns the release line of a broker that supports this level of `metadata.version`. */
export function releaseOf(level: number): string {
  return firstLevels.find(([first]) => level >= first)?.[1] ?? 'older than 3.3'
}
