/**
 * The transport to real brokers: sockets, version negotiation and logins. It has no timers, returns error codes as data,
 * and trusts no length that a peer sends.
 */

import { abortReason } from '@waybill/core/internal'
import type { ApiBinding } from '../api/api-binding.ts'
import { apiTable } from '../api/api-table.ts'
import type { KafkaApi, RequestOf, ResponseOf } from '../api/kafka-apis.ts'
import { prepareChecksum } from '../records/crc32c.ts'
import { BrokerSession } from './broker-session.ts'
import { type BrokerSocket, openBrokerSocket } from './broker-socket.ts'
import { askVersions, notSpoken, type SpokenVersions } from './broker-versions.ts'
import {
  AuthenticationError,
  type KafkaConnection,
  type KafkaTransport,
  type NodeAddress,
  TransportError,
} from './kafka-transport.ts'
import { reasonOf } from './reason-of.ts'
import {
  type BrokerTransportOptions,
  type ResolvedTransportOptions,
  resolveTransportOptions,
} from './transport-options.ts'

/** Creates the transport to real brokers. Opens no connection. @throws OptionsError, StateError without checksum code */
export function createBrokerTransport(given: BrokerTransportOptions = {}): KafkaTransport {
  const options = resolveTransportOptions(given)
  prepareChecksum()
  return {
    async connect(node, clientId, signal) {
      try {
        const socket = await openBrokerSocket(node, { ...options, clientId, signal })
        return await prepare(socket, options, signal)
      } catch (error) {
        throw cannotConnect(node, error)
      }
    },
  }
}

async function prepare(
  socket: BrokerSocket,
  { sasl, clock }: ResolvedTransportOptions,
  signal: AbortSignal | undefined,
): Promise<KafkaConnection> {
  const abort = (): void => socket.fail(abortReason(signal as AbortSignal))
  signal?.addEventListener('abort', abort, { once: true })
  const session = sasl === false ? null : new BrokerSession(socket, sasl, clock)
  const greet = async (): Promise<SpokenVersions> => {
    const spoken = await askVersions(socket)
    await session?.begin()
    return spoken
  }
  try {
    // A credential provider may never resolve, and the connection may close meanwhile.
    return new BrokerConnection(socket, await socket.orEnded(greet()), session)
  } catch (error) {
    socket.close()
    throw error
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}

/** NOT_SENT whatever failed: while connecting, no request of the client is sent. */
function cannotConnect(node: NodeAddress, error: unknown): TransportError {
  if (error instanceof TransportError && error.isFinal) return error
  const message = `Cannot connect to ${node.host}:${node.port}: ${reasonOf(error)}.`
  if (!refusesCertificate(error)) return new TransportError(message, 'NOT_SENT', { cause: error })
  return new AuthenticationError(message, 'NOT_SENT', { cause: error, hint: 'Check the certificate given for TLS.' })
}

/** TLS alerts by which a broker rejects the client's certificate, or requires one. */
const certificateAlert = /_ALERT_(?:\w+_)?(?:CERTIFICATE|CERTIFICATE_\w+|UNKNOWN_CA|ACCESS_DENIED)$/

function refusesCertificate(error: unknown): boolean {
  for (let link = error; link instanceof Error; link = link.cause) {
    if ('code' in link && certificateAlert.test(String(link.code))) return true
  }
  return false
}

class BrokerConnection implements KafkaConnection {
  readonly #socket: BrokerSocket
  readonly #spoken: SpokenVersions
  readonly #session: BrokerSession | null

  constructor(socket: BrokerSocket, spoken: SpokenVersions, session: BrokerSession | null) {
    this.#socket = socket
    this.#spoken = spoken
    this.#session = session
  }

  get ended(): Promise<Error | null> {
    return this.#socket.ended
  }

  async send<A extends KafkaApi>(api: A, request: RequestOf<A>): Promise<ResponseOf<A>> {
    const version = this.#spoken.get(api)
    if (version === undefined) throw notSpoken(api, this.#socket)
    const binding: ApiBinding<A> = apiTable[api]
    const body = binding.write(request, version)
    const login = this.#session?.whenValid()
    if (login !== undefined) await login
    const reader = await this.#socket.request({
      what: api,
      apiKey: binding.key,
      apiVersion: version,
      isFlexible: true,
      body,
    })
    try {
      reader.skipTags()
      return binding.read(reader, version)
    } catch (error) {
      // Nothing after a malformed response can be trusted.
      this.#socket.fail(error as Error)
      throw error
    }
  }

  close(): void {
    this.#socket.close()
  }
}
