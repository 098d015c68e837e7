import { createMemoryRegistry, createRegistryClient, type SchemaDocument } from '@waybill/contract/registry'
import { describeWith } from '@waybill/test-support'
import { schemaRegistrySuite } from './registry-suite.ts'

/** The one rule of Avro that the suite needs: a new field has a default. */
const compareAvro = (older: SchemaDocument, newer: SchemaDocument): string[] => {
  const known = new Set(fieldsOf(older).map(({ name }) => name))
  return fieldsOf(newer)
    .filter((field) => !known.has(field.name) && !('default' in field))
    .map(({ name }) => `${name} has no default`)
}
const fieldsOf = ({ schema }: SchemaDocument): readonly { readonly name: string }[] =>
  (JSON.parse(schema) as { fields: { name: string }[] }).fields

const strict = new Set<string>()
const memory = createMemoryRegistry({
  compare: (older, newer) =>
    'subject' in older && strict.has(older.subject as string) ? compareAvro(older, newer) : [],
})

schemaRegistrySuite({
  title: 'in memory',
  registry: () => memory,
  subject: (name) => name,
  setBackward: async (subject) => {
    strict.add(subject)
  },
})

describeWith('registry')('over HTTP', ({ registry: { url, name } }) => {
  const registry = createRegistryClient({ url })
  schemaRegistrySuite({
    title: 'Apicurio',
    registry: () => registry,
    subject: name,
    async setBackward(subject) {
      const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
      const body = JSON.stringify({ compatibility: 'BACKWARD' })
      await fetch(`${url}/config/${subject}`, { method: 'PUT', headers, body })
    },
  })
})
