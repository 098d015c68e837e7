/** What a broker speaks, and what of it we use. */

import { apiTable } from '../api/api-table.ts'
import { ByteWriter } from '../api/byte-writer.ts'
import { errorCode, errorName } from '../api/error-codes.ts'
import type { KafkaApi } from '../api/kafka-apis.ts'
import type { BrokerSocket } from './broker-socket.ts'
import { UnsupportedApiError } from './kafka-transport.ts'

/** The version to use of each request; absent where the broker and we have none in common. */
export type SpokenVersions = ReadonlyMap<KafkaApi, number>

/** The lowest and highest version a broker takes. */
export interface VersionRange {
  readonly min: number
  readonly max: number
}

const needed = 'Kafka 3.1 or newer is needed.'

/** Asks the broker. */
export async function askVersions(socket: BrokerSocket): Promise<SpokenVersions> {
  const reader = await socket.request({
    what: 'ApiVersions',
    apiKey: 18,
    apiVersion: 3,
    isFlexible: true,
    body: new ByteWriter().text('waybill').text('0').noTags(),
  })
  // The one answer without tagged fields in its header, so that a broker of any age can be asked.
  const code = reader.int16()
  if (code !== errorCode.NONE) {
    throw new UnsupportedApiError(`${socket.address} does not say what it speaks: ${errorName(code)}.`, 'NOT_SENT', {
      hint: needed,
    })
  }
  return chooseVersions(new Map(reader.structs(() => [reader.int16(), { min: reader.int16(), max: reader.int16() }])))
}

/** For each request the highest version that both sides have. */
export function chooseVersions(offered: ReadonlyMap<number, VersionRange>): SpokenVersions {
  const spoken = new Map<KafkaApi, number>()
  for (const api of Object.keys(apiTable) as KafkaApi[]) {
    const { key, versions } = apiTable[api]
    const range = offered.get(key)
    const version = range && versions.find((candidate) => candidate >= range.min && candidate <= range.max)
    if (version !== undefined) spoken.set(api, version)
  }
  return spoken
}

/** The error for a request that is not among the spoken ones. */
export function notSpoken(api: KafkaApi, socket: BrokerSocket): UnsupportedApiError {
  return new UnsupportedApiError(`${socket.address} speaks no version of ${api} that we do.`, 'NOT_SENT', {
    hint: needed,
  })
}
