package millstream.peers;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.src.reader.SimpleStreamFormat;
import org.apache.flink.connector.file.src.reader.StreamFormat;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;

/** Rows of 64-bit numbers, as many as the table has columns, with nothing between them. */
final class RowFormat extends SimpleStreamFormat<RowData> {
  private static final int BUFFER = 1 << 16;
  private final RowType type;

  RowFormat(RowType type) {
    this.type = type;
  }

  @Override
  public StreamFormat.Reader<RowData> createReader(Configuration configuration, FSDataInputStream file) {
    int columns = type.getFieldCount();
    InputStream in = new BufferedInputStream(file, BUFFER);
    byte[] bytes = new byte[Long.BYTES * columns];
    ByteBuffer numbers = ByteBuffer.wrap(bytes);
    return new StreamFormat.Reader<>() {
      @Override
      public RowData read() throws IOException {
        if (in.readNBytes(bytes, 0, bytes.length) < bytes.length) {
          return null;
        }
        GenericRowData row = new GenericRowData(columns);
        for (int i = 0; i < columns; i++) {
          row.setField(i, numbers.getLong(Long.BYTES * i));
        }
        return row;
      }

      @Override
      public void close() throws IOException {
        in.close();
      }
    };
  }

  @Override
  public TypeInformation<RowData> getProducedType() {
    return InternalTypeInfo.of(type);
  }
}
