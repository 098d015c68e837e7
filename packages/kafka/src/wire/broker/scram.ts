/** The client's side of SCRAM (RFC 5802), as a conversation over any channel. */

import { Buffer } from 'node:buffer'
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { PeerError } from './peer-error.ts'

/** Sends one message and resolves with the reply. */
export type Exchange = (message: Buffer) => Promise<Buffer>

/** Fewer iterations protect the password badly; RFC 7677 and Kafka ask for this many at least. */
const minIterations = 4_096
/** More iterations only keep a thread of this process busy. Kafka itself allows 16,384. */
const maxIterations = 1_000_000
const hashes = { 'SHA-256': { name: 'sha256', bytes: 32 }, 'SHA-512': { name: 'sha512', bytes: 64 } } as const
const derive = promisify(pbkdf2)

/**
 * Proves knowledge of the password without sending it, and checks that the server knows it too.
 *
 * @throws Error when the server's part is wrong. Its message repeats nothing that was sent or received.
 */
export async function converseScram(
  exchange: Exchange,
  algorithm: 'SHA-256' | 'SHA-512',
  username: string,
  password: string,
  clientNonce: string = randomBytes(16).toString('base64url'),
): Promise<void> {
  const hash = hashes[algorithm]
  const hmac = (key: Buffer, data: string): Buffer => createHmac(hash.name, key).update(data).digest()
  const clientFirst = `n=${username.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${clientNonce}`
  const serverFirst = (await exchange(Buffer.from(`n,,${clientFirst}`))).toString()

  const { r: nonce, s: salt, i: iterationText } = attributesOf(serverFirst)
  const iterations = Number(iterationText)
  if (nonce === undefined || salt === undefined) throw new PeerError('the challenge is incomplete')
  if (!nonce.startsWith(clientNonce) || nonce === clientNonce) throw new PeerError('the challenge has a wrong nonce')
  if (!(iterations >= minIterations && iterations <= maxIterations)) {
    throw new PeerError('the challenge requests too few or too many iterations')
  }

  const clientFinal = `c=${Buffer.from('n,,').toString('base64')},r=${nonce}`
  const signed = `${clientFirst},${serverFirst},${clientFinal}`
  const salted = await derive(password, Buffer.from(salt, 'base64'), iterations, hash.bytes, hash.name)
  const clientKey = hmac(salted, 'Client Key')
  const storedKey = createHash(hash.name).update(clientKey).digest()
  const proof = xor(clientKey, hmac(storedKey, signed))
  const serverFinal = (await exchange(Buffer.from(`${clientFinal},p=${proof.toString('base64')}`))).toString()

  const expected = hmac(hmac(salted, 'Server Key'), signed)
  const given = Buffer.from(attributesOf(serverFinal)['v'] ?? '', 'base64')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new PeerError('the server did not prove that it knows the password')
  }
}

function xor(a: Buffer, b: Buffer): Buffer {
  return Buffer.from(a.map((byte, index) => byte ^ (b[index] as number)))
}

/** Parses `a=1,b=2`. A value may hold further equal signs. */
function attributesOf(message: string): Partial<Record<string, string>> {
  const pairs = message.split(',').map((pair) => [pair.slice(0, 1), pair.slice(2)] as const)
  return Object.fromEntries(pairs.filter(([name]) => name !== ''))
}
