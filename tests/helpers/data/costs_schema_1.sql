-- A cost database of schema 1, as `sqlite3 .dump` gives it: written by the code of November 2026, and never changed since.
BEGIN TRANSACTION;
CREATE TABLE measurements (
	computation VARCHAR NOT NULL, 
	toolchain VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	threads INTEGER NOT NULL, 
	machine VARCHAR NOT NULL, 
	options VARCHAR NOT NULL, 
	samples JSON NOT NULL, 
	stage VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	error FLOAT, 
	stopped_early BOOLEAN NOT NULL, 
	crashed BOOLEAN NOT NULL, 
	limit_s FLOAT, 
	reference_s FLOAT, 
	created VARCHAR NOT NULL, 
	PRIMARY KEY (computation, toolchain, version, threads, machine, options)
)
 WITHOUT ROWID

;
INSERT INTO "measurements" VALUES('00000000000000000000000000000000','tvm','0.27.0.post1+collage.3',1,'Intel(R) Xeon(R) Processor, 2 cores','float32, 64 MiB swept','[0.0003333333333333333, 0.0011, 0.001]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-01T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000001','onnxruntime','1.31.0',2,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.0006666666666666666, 0.0011, 0.001000001]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-02T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000002','openvino','1.31.0',1,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.001, 0.0011, 0.001000002]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-03T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000003','tvm','0.27.0.post1+collage.3',2,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.0013333333333333333, 0.0011, 0.001000003]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-04T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000004','onnxruntime','1.31.0',1,'Intel(R) Xeon(R) Processor, 2 cores','float32, 64 MiB swept','[0.0016666666666666666, 0.0011, 0.001000004]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-05T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000005','openvino','1.31.0',2,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.002, 0.0011, 0.001000005]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-06T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000006','tvm','0.27.0.post1+collage.3',1,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.002333333333333333, 0.0011, 0.0010000060000000001]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-07T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000007','onnxruntime','1.31.0',2,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.0026666666666666666, 0.0011, 0.001000007]','','',3.0e-07,1,0,NULL,3.3333333333333337472e-06,'2026-01-08T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000008','openvino','1.31.0',1,'Intel(R) Xeon(R) Processor, 2 cores','float32, 64 MiB swept','[0.003, 0.0011, 0.001000008]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-09T12:00:00+00:00');
INSERT INTO "measurements" VALUES('00000000000000000000000000000009','tvm','0.27.0.post1+collage.3',2,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.003333333333333333, 0.0011, 0.001000009]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-10T12:00:00+00:00');
INSERT INTO "measurements" VALUES('0000000000000000000000000000000a','onnxruntime','1.31.0',1,'another CPU, 8 cores','float32','[0.0036666666666666666, 0.0011, 0.00100001]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-11T12:00:00+00:00');
INSERT INTO "measurements" VALUES('0000000000000000000000000000000b','openvino','1.31.0',2,'another CPU, 8 cores','float32','[0.004, 0.0011, 0.001000011]','','',3.0e-07,0,0,NULL,3.3333333333333337472e-06,'2026-01-12T12:00:00+00:00');
INSERT INTO "measurements" VALUES('eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee','openvino','1.31.0',1,'Intel(R) Xeon(R) Processor, 2 cores','float32','[0.001]','numerics','it errs by 0.5',0.5,0,0,NULL,NULL,'2026-01-21T12:00:00+00:00');
INSERT INTO "measurements" VALUES('ffffffffffffffffffffffffffffffff','tvm','0.27.0.post1+collage.3',1,'Intel(R) Xeon(R) Processor, 2 cores','float32','[]','build','crashed with SIGSEGV while building: it''s “odd”',NULL,0,1,2.5,NULL,'2026-01-20T12:00:00+00:00');
CREATE TABLE meta (
	"key" VARCHAR NOT NULL, 
	value VARCHAR NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('schema','1');
CREATE TABLE transitions (
	maker VARCHAR NOT NULL, 
	reader VARCHAR NOT NULL, 
	maker_version VARCHAR NOT NULL, 
	reader_version VARCHAR NOT NULL, 
	threads INTEGER NOT NULL, 
	machine VARCHAR NOT NULL, 
	fixed_s FLOAT NOT NULL, 
	per_byte_s FLOAT NOT NULL, 
	note VARCHAR NOT NULL, 
	created VARCHAR NOT NULL, 
	PRIMARY KEY (maker, reader, maker_version, reader_version, threads, machine)
)
 WITHOUT ROWID

;
INSERT INTO "transitions" VALUES('onnxruntime','tvm','1.31.0','0.27.0.post1+collage.3',1,'Intel(R) Xeon(R) Processor, 2 cores',0.0,0.0,'hand-overs to and from tvm cannot be measured and count as free: it hangs','2026-11-21T16:44:54+00:00');
INSERT INTO "transitions" VALUES('tvm','onnxruntime','0.27.0.post1+collage.3','1.31.0',1,'Intel(R) Xeon(R) Processor, 2 cores',3.33333333333333300561e-07,2.0e-12,'','2026-11-21T16:44:54+00:00');
COMMIT;
