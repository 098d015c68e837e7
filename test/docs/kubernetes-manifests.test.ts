import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'

const folder = join(import.meta.dirname, '../../docs/how-to/kubernetes')

interface Workload {
  readonly spec: {
    readonly template?: { readonly spec: Readonly<Record<string, unknown>> & { containers: unknown[] } }
  }
}

describe('the manifests for Kubernetes', () => {
  test.each(['deployment.yaml', 'statefulset.yaml'])('%s passes the restricted Pod Security Standard', async (name) => {
    const documents = parseAllDocuments(await readFile(join(folder, name), 'utf8'))
    const workloads = documents.map((each) => each.toJS() as Workload)
    const pods = workloads.flatMap(({ spec }) => (spec.template === undefined ? [] : [spec.template.spec]))
    expect(pods).toHaveLength(1)
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      })
      for (const container of pod.containers)
        expect(container).toMatchObject({
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        })
    }
  })
})
