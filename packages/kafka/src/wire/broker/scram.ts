/** The client's side of SCRAM (RFC 5802), as a conversation over any channel; the library has the arithmetic. */

import { Buffer } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import { saslScramSha } from '@platformatic/kafka'
import { PeerError } from './peer-error.ts'

/** Sends one message and resolves with the reply. */
export type Exchange = (message: Buffer) => Promise<Buffer>

/** A server would have to spend as much; more only keeps one of our threads busy. Kafka itself takes 16,384. */
const maxIterations = 1_000_000

/**
 * Proves to know the password without saying it, and checks that the server knows it too.
 *
 * @throws Error when the server's part is wrong. Its message repeats nothing that was sent or received.
 */
export async function converseScram(
  exchange: Exchange,
  algorithm: 'SHA-256' | 'SHA-512',
  username: string,
  password: string,
  clientNonce: string = saslScramSha.createNonce(),
): Promise<void> {
  const hash = saslScramSha.ScramAlgorithms[algorithm]
  const { h, hi, hmac, xor } = saslScramSha
  const clientFirst = `n=${username.replaceAll('=', '=3D').replaceAll(',', '=2C')},r=${clientNonce}`
  const serverFirst = (await exchange(Buffer.from(`n,,${clientFirst}`))).toString()

  const { r: nonce, s: salt, i: iterationText } = attributesOf(serverFirst)
  const iterations = Number(iterationText)
  if (nonce === undefined || salt === undefined) throw new PeerError('the challenge is not complete')
  if (!nonce.startsWith(clientNonce) || nonce === clientNonce) throw new PeerError('the challenge is not for us')
  if (!(iterations >= hash.minIterations && iterations <= maxIterations)) {
    throw new PeerError('the challenge asks for too few or too many iterations')
  }

  const clientFinal = `c=${Buffer.from('n,,').toString('base64')},r=${nonce}`
  const signed = `${clientFirst},${serverFirst},${clientFinal}`
  const salted = await hi(hash, password, Buffer.from(salt, 'base64'), iterations)
  const clientKey = hmac(hash, salted, 'Client Key')
  const proof = xor(clientKey, hmac(hash, h(hash, clientKey), signed))
  const serverFinal = (await exchange(Buffer.from(`${clientFinal},p=${proof.toString('base64')}`))).toString()

  const expected = hmac(hash, hmac(hash, salted, 'Server Key'), signed)
  const given = Buffer.from(attributesOf(serverFinal)['v'] ?? '', 'base64')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new PeerError('the peer does not know the password')
  }
}

/** `a=1,b=2` as an object; a value may hold further equal signs. */
function attributesOf(message: string): Partial<Record<string, string>> {
  const pairs = message.split(',').map((pair) => [pair.slice(0, 1), pair.slice(2)] as const)
  return Object.fromEntries(pairs.filter(([name]) => name !== ''))
}
