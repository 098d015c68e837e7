import type { Place, PlaceKind } from './place.ts'

/** Subjects with a prefix of their own. */
export interface RegistryPlace extends Place {
  /** The address of Confluent's API. */
  readonly url: string
  /** Returns the name of a subject, or of a topic whose subjects are deleted with it. */
  readonly name: (name: string) => string
}

/** Subject prefixes as places. */
export const registryPlaces: PlaceKind<RegistryPlace> = {
  create(url, name) {
    const prefix = `${name}-`
    return {
      url,
      name: (subject) => `${prefix}${subject}`,
      open: async () => {},
      close: () => deleteSubjects(url, (subject) => subject.startsWith(prefix)),
    }
  },
  sweep: (url, isStale) => deleteSubjects(url, (subject) => isStale(subject.split('-', 1)[0] ?? '')),
}

async function deleteSubjects(url: string, isWanted: (subject: string) => boolean): Promise<void> {
  const subjects = (await (await fetch(`${url}/subjects`)).json()) as string[]
  for (const subject of subjects.filter(isWanted)) {
    const path = `${url}/subjects/${encodeURIComponent(subject)}`
    // A registry keeps the versions of a deleted subject until it is deleted permanently.
    for (const address of [path, `${path}?permanent=true`]) await fetch(address, { method: 'DELETE' })
  }
}
