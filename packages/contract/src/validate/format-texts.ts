/** The texts of a format from both sides, since no two validators agree on all of them. */
export interface FormatTexts {
  /** Pattern of texts that every validator accepts. */
  readonly surely: string
  /** Pattern of texts that some validator accepts. */
  readonly perhaps: string
  /** Wider formats: each text of this one belongs to them. */
  readonly within?: readonly string[]
}

const date = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])`
const time = String.raw`(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d`
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}'
const octet = String.raw`(?:[1-9]?\d|1\d\d|2[0-4]\d|25[0-5])`
const label = '[a-z][a-z0-9]{0,20}'

/** The formats that JSON Schema defines, and those that schema libraries add. */
export const formatTexts: ReadonlyMap<string, FormatTexts> = new Map<string, FormatTexts>([
  ['date-time', { surely: `^${date}T${time}Z$`, perhaps: String.raw`^\d{4}-\d\d-\d\d[Tt\s]\d\d:\d\d.*$` }],
  ['date', { surely: `^${date}$`, perhaps: String.raw`^\d{4}-\d\d-\d\d$` }],
  ['time', { surely: `^${time}Z$`, perhaps: String.raw`^\d\d:\d\d.*$` }],
  ['duration', { surely: String.raw`^P[1-9]D$`, perhaps: '^[-+]?P.+$' }],
  ['email', { surely: `^${label}@${label}\\.com$`, perhaps: '^.+@.+$', within: ['idn-email'] }],
  ['idn-email', { surely: `^${label}@${label}\\.com$`, perhaps: '^.+@.+$' }],
  ['hostname', { surely: `^${label}\\.com$`, perhaps: String.raw`^[^\s/]+$`, within: ['idn-hostname'] }],
  ['idn-hostname', { surely: `^${label}\\.com$`, perhaps: String.raw`^[^\s/]+$` }],
  ['ipv4', { surely: `^(?:${octet}\\.){3}${octet}$`, perhaps: String.raw`^\d+\.\d+\.\d+\.\d+$` }],
  ['ipv6', { surely: '^(?:[1-9a-f]{4}:){7}[1-9a-f]{4}$', perhaps: '^[0-9a-fA-F:.%]*:[0-9a-fA-F:.%]*$' }],
  [
    'uri',
    {
      surely: `^https://${label}\\.com/[a-z]*$`,
      perhaps: String.raw`^[A-Za-z][A-Za-z0-9+.-]*:.*$`,
      within: ['iri', 'uri-reference', 'iri-reference'],
    },
  ],
  ['uri-reference', { surely: '^[a-z]{1,20}$', perhaps: String.raw`^[^\s\\]*$`, within: ['iri-reference'] }],
  [
    'iri',
    {
      surely: `^https://${label}\\.com/[a-z]*$`,
      perhaps: String.raw`^[A-Za-z][A-Za-z0-9+.-]*:.*$`,
      within: ['iri-reference'],
    },
  ],
  ['iri-reference', { surely: '^[a-z]{1,20}$', perhaps: String.raw`^[^\s\\]*$` }],
  ['uri-template', { surely: `^https://${label}\\.com/\\{[a-z]+\\}$`, perhaps: '^[^]*$' }],
  ['regex', { surely: '^[a-z]{1,20}$', perhaps: '^[^]*$' }],
  ['uuid', { surely: `^${uuid}$`, perhaps: '^(?:urn:uuid:)?[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$' }],
  ['json-pointer', { surely: '^(?:/[a-z]+)+$', perhaps: '^(?:/[^]*)?$' }],
  ['relative-json-pointer', { surely: '^[1-9]/[a-z]+$', perhaps: String.raw`^\d.*$` }],
  ['ulid', { surely: '^0[0-9A-HJKMNP-TV-Z]{25}$', perhaps: '^[0-9A-Za-z]{26}$' }],
  ['base64', { surely: '^(?:[A-Za-z0-9]{4})+$', perhaps: String.raw`^[A-Za-z0-9+/=\s]*$` }],
  ['byte', { surely: '^(?:[A-Za-z0-9]{4})+$', perhaps: String.raw`^[A-Za-z0-9+/=\s]*$` }],
])
