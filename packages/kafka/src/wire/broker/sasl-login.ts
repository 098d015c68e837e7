/**
 * Authenticates with a broker: SaslHandshake, then one SaslAuthenticate for each message of the mechanism.
 *
 * Errors never quote the broker's responses to these requests, which may contain the secret.
 */

import { Buffer } from 'node:buffer'
import { ByteWriter } from '../api/byte-writer.ts'
import { errorCode } from '../api/error-codes.ts'
import type { BrokerSocket } from './broker-socket.ts'
import { AuthenticationError, TransportError } from './kafka-transport.ts'
import { PeerError } from './peer-error.ts'
import { reasonOf } from './reason-of.ts'
import { converseScram, type Exchange } from './scram.ts'
import type { Credential, PasswordLogin, SaslOptions } from './transport-options.ts'

/**
 * Logs in, or renews the login of a session about to expire. Resolves with the lifetime of the session in milliseconds,
 * 0 for that of the connection. Rejects with AuthenticationError when refused, with TransportError when disconnected.
 */
export async function logIn(socket: BrokerSocket, sasl: SaslOptions): Promise<number> {
  await chooseMechanism(socket, sasl.mechanism)
  let sessionLifetimeMs = 0
  const exchange: Exchange = async (message) => {
    const answer = await authenticate(socket, message)
    sessionLifetimeMs = Number(answer.sessionLifetimeMs)
    return answer.authBytes
  }
  try {
    await converse(exchange, sasl)
  } catch (error) {
    // A TransportError is worded here; any other error may quote the broker.
    throw error instanceof TransportError ? error : refused(socket, reasonOf(error))
  }
  return sessionLifetimeMs
}

async function chooseMechanism(socket: BrokerSocket, mechanism: string): Promise<void> {
  const reader = await socket.request({
    what: 'SaslHandshake',
    apiKey: 17,
    apiVersion: 1,
    isFlexible: false,
    body: new ByteWriter().shortText(mechanism),
  })
  if (reader.int16() === errorCode.NONE) return
  const offered = reader.longList(() => reader.shortText())
  throw refused(
    socket,
    `the broker does not support ${mechanism}, only ${offered.join(', ') || 'connections without a login'}`,
  )
}

async function converse(exchange: Exchange, sasl: SaslOptions): Promise<void> {
  switch (sasl.mechanism) {
    case 'PLAIN': {
      const [username, password] = await namePassword(sasl)
      await exchange(Buffer.from(`\0${username}\0${password}`))
      return
    }
    case 'SCRAM-SHA-256':
    case 'SCRAM-SHA-512': {
      const [username, password] = await namePassword(sasl)
      return converseScram(exchange, sasl.mechanism === 'SCRAM-SHA-256' ? 'SHA-256' : 'SHA-512', username, password)
    }
    case 'OAUTHBEARER': {
      const token = await reveal('token', sasl.token)
      const extensions = Object.entries(sasl.extensions ?? {}).map(([name, value]) => `\x01${name}=${value}`)
      const reply = await exchange(Buffer.from(`n,,\x01auth=Bearer ${token}${extensions.join('')}\x01\x01`))
      // A broker rejects a token by a text instead of an error code, and waits for a reply to it.
      if (reply.length > 0) throw new PeerError('the broker rejected the token')
      return
    }
  }
}

async function namePassword(sasl: PasswordLogin): Promise<readonly [username: string, password: string]> {
  return [await reveal('username', sasl.username), await reveal('password', sasl.password)]
}

/** Obtains a secret. Of a provider's error only the name is reported: HTTP clients put whole requests into theirs. */
async function reveal(name: string, credential: Credential): Promise<string> {
  if (typeof credential === 'string') return credential
  try {
    const value: unknown = await credential()
    if (typeof value === 'string') return value
  } catch (error) {
    throw new TransportError(
      `Could not obtain the SASL ${name}: its provider threw ${error instanceof Error ? error.name : 'a value that is not an Error'}.`,
      'NOT_SENT',
    )
  }
  throw new TransportError(`Could not obtain the SASL ${name}: its provider did not return a string.`, 'NOT_SENT')
}

interface SaslAnswer {
  readonly authBytes: Buffer
  readonly sessionLifetimeMs: bigint
}

async function authenticate(socket: BrokerSocket, message: Buffer): Promise<SaslAnswer> {
  const reader = await socket.request({
    what: 'SaslAuthenticate',
    apiKey: 36,
    apiVersion: 2,
    isFlexible: true,
    body: new ByteWriter().bytes(message).noTags(),
  })
  reader.skipTags()
  const code = reader.int16()
  reader.nullableText() // The broker's message, which may quote the secret.
  if (code !== errorCode.NONE) throw refused(socket, 'the broker rejected the credentials')
  return { authBytes: reader.bytes(), sessionLifetimeMs: reader.int64() }
}

function refused(socket: BrokerSocket, why: string): AuthenticationError {
  return new AuthenticationError(`The login to ${socket.address} failed: ${why}.`, 'NOT_SENT', {
    impact: 'Nothing was sent.',
    hint: 'Check the mechanism and the credentials, then connect again.',
  })
}
