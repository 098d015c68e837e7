/** The state of each capability: present, or absent with the reason. */
export type Capabilities<Capability extends string> = Readonly<Record<Capability, true | { readonly absent: string }>>

/** Gives a suite the implementation that it tests. */
export interface Harness<Subject, Capability extends string> {
  /** The implementation as titles name it: "Apache Kafka". */
  readonly name: string
  readonly capabilities: Capabilities<Capability>
  /** Runs one test on a subject. The harness deletes what the test leaves behind. */
  run(test: (subject: Subject) => Promise<void>): Promise<void>
}
