/**
 * Proves to a broker who we are: SaslHandshake, then one SaslAuthenticate for each message of the mechanism.
 *
 * What a broker says while it is being told a secret is not repeated in errors: it has just seen the secret.
 */

import { Buffer } from 'node:buffer'
import { ByteWriter } from '../api/byte-writer.ts'
import { errorCode } from '../api/error-codes.ts'
import { because } from './because.ts'
import type { BrokerSocket } from './broker-socket.ts'
import { AuthenticationError, TransportError } from './kafka-transport.ts'
import { PeerError } from './peer-error.ts'
import { converseScram, type Exchange } from './scram.ts'
import type { Credential, PasswordLogin, SaslOptions } from './transport-options.ts'

/**
 * Logs in; also again on a connection whose session is about to end. Resolves with how long the session lasts, 0 for
 * as long as the connection. Rejects with AuthenticationError when refused, with TransportError when cut off.
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
    // Only our own words: anything else may quote the broker.
    throw error instanceof TransportError ? error : refused(socket, because(error))
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
  throw refused(socket, `it does not take ${mechanism}, but ${offered.join(', ') || 'no login at all'}`)
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
      // A refused token is no error code but a text, and the broker waits for a reply to it.
      if (reply.length > 0) throw new PeerError('it does not take the token')
      return
    }
  }
}

async function namePassword(sasl: PasswordLogin): Promise<readonly [username: string, password: string]> {
  return [await reveal('username', sasl.username), await reveal('password', sasl.password)]
}

/** Asks for the secret. A provider's error is told by its kind alone: HTTP clients put whole requests into theirs. */
async function reveal(name: string, credential: Credential): Promise<string> {
  if (typeof credential === 'string') return credential
  try {
    const value: unknown = await credential()
    if (typeof value === 'string') return value
  } catch (error) {
    throw new TransportError(
      `The ${name} for the login could not be had: its provider threw ${error instanceof Error ? error.name : 'something that is no error'}.`,
      'NOT_SENT',
    )
  }
  throw new TransportError(`The ${name} for the login could not be had: its provider gave no text.`, 'NOT_SENT')
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
  reader.nullableText() // The broker's words.
  if (code !== errorCode.NONE) throw refused(socket, 'it does not take these credentials')
  return { authBytes: reader.bytes(), sessionLifetimeMs: reader.int64() }
}

function refused(socket: BrokerSocket, why: string): AuthenticationError {
  return new AuthenticationError(`The login to ${socket.address} failed: ${why}.`, 'NOT_SENT', {
    impact: 'Nothing was sent.',
    hint: 'Check the mechanism and the credentials, then connect again.',
  })
}
